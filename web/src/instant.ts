// Where everything is at one instant of a window: pure functions of what the simulator recorded.
import type { Log } from "./protocol.ts";

/** A way of a packet over a device, by its row. */
export type Row = number;

export interface Lane {
  /** In the queue discipline, the head first. */
  queued: Row[];
  /** Left the discipline and not yet the device: in the ring, or in the driver of a radio. */
  below: Row[];
  /** On the link, the first to arrive first. */
  onLink: Row[];
  /** Dropped here since the window began. */
  dropped: number;
}

export interface Instant {
  lanes: Lane[];
  /** PPDUs on the air. */
  onAir: number[];
  /** PPDUs whose radio waits for the medium. */
  waiting: number[];
  /** The last row of each flow in `senders`. */
  senders: Map<number, number>;
}

export function at(log: Log, now: number): Instant {
  const { packets, air, senders } = log;
  const lanes: Lane[] = log.devices.map(() => ({ queued: [], below: [], onLink: [], dropped: 0 }));
  for (let row = 0; row < packets.t.length && packets.t[row]! <= now; row++) {
    const lane = lanes[packets.device[row]!]!;
    const [dequeued, sent, ended] = [packets.dequeued[row]!, packets.sent[row]!, packets.ended[row]!];
    if (ended !== null && ended <= now) lane.dropped += packets.end[row] !== "arrived" && ended >= 0 ? 1 : 0;
    else if (dequeued === null || dequeued > now) lane.queued.push(row);
    else if (sent === null || sent > now) lane.below.push(row);
    else lane.onLink.push(row);
  }
  const order = (key: (number | null)[]) => (a: Row, b: Row) => (key[a] ?? Infinity) - (key[b] ?? Infinity);
  for (const lane of lanes) {
    lane.queued.sort(order(packets.dequeued));
    lane.below.sort(order(packets.sent));
    lane.onLink.sort(order(packets.ended));
  }
  const found: Instant = { lanes, onAir: [], waiting: [], senders: new Map() };
  air?.t.forEach((begin, ppdu) => {
    if (begin <= now && now < begin + air.lasts[ppdu]!) found.onAir.push(ppdu);
    else if (begin - air.waited[ppdu]! <= now && now < begin) found.waiting.push(ppdu);
  });
  for (let row = 0; row < senders.t.length && senders.t[row]! <= now; row++) found.senders.set(senders.flow[row]!, row);
  return found;
}

/** All instants at which something changes, in order. */
export function changes(log: Log): number[] {
  const { t, dequeued, sent, ended } = log.packets;
  const air = log.air ? [...log.air.t, ...log.air.t.map((begin, ppdu) => begin + log.air!.lasts[ppdu]!)] : [];
  const all = [...t, ...dequeued, ...sent, ...ended, ...air].filter((each): each is number => each !== null);
  return [...new Set(all)].filter((each) => each >= 0 && each <= log.length).sort((a, b) => a - b);
}

/** Packets in flight on a link: how far each has come, from 0 to 1. */
export function progress(log: Log, row: Row, now: number): number {
  const [sent, ended] = [log.packets.sent[row]!, log.packets.ended[row]];
  return ended === null || ended === undefined || ended === sent ? 0.5 : (now - sent!) / (ended - sent!);
}

/** Columns and rows in which hosts are drawn: along the longest path, with the others beside it. */
export function layout(log: Log): { x: number; y: number }[] {
  const count = log.hosts.length;
  const near: Set<number>[] = log.hosts.map(() => new Set());
  for (const { host, peers } of log.devices) for (const peer of peers) near[host]!.add(peer).size && near[peer]!.add(host);
  const from = (start: number): number[] => {
    const far = new Array<number>(count).fill(-1);
    far[start] = 0;
    for (const queue = [start]; queue.length; ) {
      const host = queue.shift()!;
      for (const peer of near[host]!) if (far[peer]! < 0) [far[peer]] = [far[host]! + 1, queue.push(peer)];
    }
    return far;
  };
  const first = log.devices.length ? log.devices[0]!.host : 0;
  const one = from(first);
  const end = one.indexOf(Math.max(...one));
  const back = from(end);
  const begin = back.indexOf(Math.max(...back));
  // The host that comes first in the file is on the left.
  const [left, right] = begin < end ? [from(begin), back] : [back, from(begin)];
  const length = Math.max(...back);
  const columns = left.map((far, host) => {
    if (far < 0) return 0;
    const onSpine = far + right[host]! === length;
    if (onSpine || near[host]!.size !== 1) return Math.min(length, Math.max(0, onSpine ? far : (far + length - right[host]!) / 2));
    const [to] = near[host]!;
    const side = left[to!]! < length / 2 ? -1 : 1;
    return Math.min(length, Math.max(0, left[to!]! + side));
  });
  const taken = new Map<number, number>();
  return columns.map((x) => {
    const y = taken.get(x) ?? 0;
    taken.set(x, y + 1);
    return { x, y };
  });
}
