// What a saved page draws of a run, from its tables: the same curves and strips as python/tailback/lab/picture.py makes
// (a test compares them).
import type { Curve, Picture, Shares } from "./protocol.ts";
import type { Table, Words } from "./tables.ts";

/** What the page knows of the scenario. */
export interface Known {
  title: string;
  seed: number;
  duration_ns: number;
  interval_ns: number;
  window: [number, number];
  /** The hosts of each channel. */
  channels: Record<string, string[]>;
  /** Each with the hosts of its cell. */
  radios: { name: string; host: string; members: string[] }[];
}

type Tables = Map<string, Table>;

interface Points {
  ends: number[];
  values: number[];
}

const [MOST_BINS, MOST_FLOWS, MOST_SENDERS, DIGITS] = [240, 8, 6, 5];
const HELD = {
  cwnd: "held_cwnd", pacing: "held_pacing", receive_window: "held_rwnd", send_buffer: "held_sndbuf",
  small_queue: "held_small_queue", no_data: "held_no_data",
};

export function picture(tables: Tables, known: Known): Picture {
  const { duration_ns: duration, interval_ns: interval } = known;
  const width = interval * Math.max(1, Math.ceil(duration / interval / MOST_BINS));
  const info = tables.get("tcp_info")!;
  const curves: Record<string, Curve> = {};
  const draw = (name: string, title: string, unit: string, points: Points, flows?: Record<string, Points>) => {
    if (points.values.some(Number.isFinite)) curves[name] = { title, unit, ...curve(points, width, flows) };
  };
  draw("goodput", "Goodput", "Mbit/s", goodput(tables.get("flows")!, duration, width));
  const rtt = info.numbers("rtt");
  draw("rtt", "TCP RTT", "ms", scaled(means(info, "rtt", width, (row) => rtt[row]! > 0), 1e-3), flows(info, "rtt", width, 1e-3));
  draw("ping", "Ping", "ms", means(tables.get("ping")!, "rtt_ms", width));
  draw("cwnd", "cwnd", "segments", means(info, "snd_cwnd", width), flows(info, "snd_cwnd", width, 1));
  draw("queue", "Longest queue", "packets", queue(tables.get("qdisc")!, atRadios(tables, known), width));
  draw("drops", "Drops", "packets per bin", drops(tables.get("qdisc")!, width));
  return {
    title: known.title, seeds: [known.seed], duration: duration / 1e9, window: known.window, curves,
    held: held(info, width), air: air(tables.get("wifi"), width, known), table: [], warnings: [], expect: [],
  };
}

/** Its `t` are the middles of the bins. */
function curve(points: Points, width: number, flows?: Record<string, Points>): Pick<Curve, "t" | "mean" | "flows"> {
  const middles = points.ends.map((end) => rounded(end - width / 1e9 / 2));
  const found: ReturnType<typeof curve> = { t: middles, mean: points.values.map(shown) };
  if (flows) {
    found.flows = Object.fromEntries(Object.entries(flows).map(([name, its]) => {
      const at = new Map(its.ends.map((end, place) => [end, its.values[place]!]));
      return [name, points.ends.map((end) => shown(at.get(end) ?? NaN))];
    }));
  }
  return found;
}

/** The number of the bin of an instant in s, from 1. */
function bin(t: number, width: number): number {
  return Math.max(Math.ceil(t / (width / 1e9) - 1e-9), 1);
}

/** Sums of bins, in order. */
class Bins {
  private readonly sums = new Map<number, [sum: number, count: number]>();

  constructor(private readonly width: number) {}

  add(place: number, value: number): void {
    const found = this.sums.get(place);
    if (found) {
      found[0] += value;
      found[1] += 1;
    } else this.sums.set(place, [value, 1]);
  }

  points(of: (sum: number, count: number) => number): Points {
    const places = [...this.sums.keys()].sort((a, b) => a - b);
    return { ends: places.map((place) => place * (this.width / 1e9)), values: places.map((place) => of(...this.sums.get(place)!)) };
  }
}

const mean = (sum: number, count: number): number => sum / count;

function means(table: Table, column: string, width: number, wanted: (row: number) => boolean = () => true): Points {
  const [at, values, bins] = [table.numbers("t"), table.numbers(column), new Bins(width)];
  for (let row = 0; row < table.rows; row++) {
    if (Number.isFinite(values[row]) && wanted(row)) bins.add(bin(at[row]!, width), values[row]!);
  }
  return bins.points(mean);
}

function scaled({ ends, values }: Points, factor: number): Points {
  return { ends, values: values.map((value) => value * factor) };
}

/** The curve of each flow, if they are few. */
function flows(info: Table, column: string, width: number, factor: number): Record<string, Points> {
  const words = info.words("flow");
  const names = present(words);
  if (names.length < 2 || names.length > MOST_FLOWS) return {};
  return Object.fromEntries(names.map((name) => {
    const code = words.known.indexOf(name);
    return [name, scaled(means(info, column, width, (row) => words.codes[row] === code), factor)];
  }));
}

function present({ codes, known }: Words): string[] {
  return [...new Set(codes)].filter((code) => code >= 0).map((code) => known[code]!).sort();
}

/** Of all flows together, in Mbit/s. */
function goodput(table: Table, duration: number, width: number): Points {
  const sums = new Float64Array(Math.floor(duration / width));
  const [at, bytes] = [table.instants, table.numbers("bytes")];
  for (let row = 0; row < table.rows; row++) {
    const place = Math.ceil(at[row]! / width) - 1;
    if (place >= 0 && place < sums.length) sums[place]! += bytes[row]!;
  }
  if (!table.rows) return { ends: [], values: [] };
  return {
    ends: Array.from(sums, (_, place) => ((place + 1) * width) / 1e9),
    values: Array.from(sums, (sum) => (sum * 8 * 1e9) / width / 1e6),
  };
}

/** The longest of all root disciplines and of these at each sample, in packets; the mean over the samples of a bin. */
function queue(table: Table, others: [t: number, packets: number][], width: number): Points {
  const [at, depth, backlog] = [table.numbers("t"), table.numbers("depth"), table.numbers("backlog_packets")];
  const longest = new Map<number, number>();
  const sample = (t: number, packets: number) => {
    if (packets >= (longest.get(t) ?? 0)) longest.set(t, packets);
  };
  for (let row = 0; row < table.rows; row++) if (depth[row] === 0) sample(at[row]!, backlog[row]!);
  for (const [t, packets] of others) sample(t, packets);
  const bins = new Bins(width);
  for (const [t, packets] of longest) bins.add(bin(t, width), packets);
  return bins.points(mean);
}

/** What waits in mac80211's queues at the end of each sampling interval, at each radio without a root discipline: as many
 *  packets as were behind its last PPDU (python/tailback/results/station_queues.py). */
function atRadios(tables: Tables, { radios, duration_ns: duration, interval_ns: interval }: Known): [t: number, packets: number][] {
  const [wifi, found] = [tables.get("wifi"), [] as [number, number][]];
  const roots = new Set(present(tables.get("qdisc")!.words("device")));
  if (!wifi) return found;
  const [at, behind, from, to] = [wifi.instants, wifi.numbers("queued"), wifi.words("from"), wifi.words("to")];
  for (const { name, host, members } of radios) {
    if (roots.has(name)) continue;
    const its = (row: number) => from.known[from.codes[row]!] === host && members.includes(to.known[to.codes[row]!]!);
    const rows = [...at.keys()].filter(its).sort((a, b) => at[a]! - at[b]!);
    let [next, packets] = [0, 0];
    for (let end = interval; end <= duration; end += interval) {
      for (; next < rows.length && at[rows[next]!]! <= end; next++) packets = behind[rows[next]!]!;
      found.push([end / 1e9, packets]);
    }
  }
  return found;
}

/** Packets that all root disciplines together dropped in each bin. */
function drops(table: Table, width: number): Points {
  const [at, depth, dropped] = [table.numbers("t"), table.numbers("depth"), table.numbers("dropped")];
  const { codes } = table.words("device");
  const [before, bins] = [new Map<number, number>(), new Bins(width)];
  for (let row = 0; row < table.rows; row++) {
    if (depth[row] !== 0) continue;
    const total = Number.isNaN(dropped[row]) ? 0 : dropped[row]!;
    bins.add(bin(at[row]!, width), total - (before.get(codes[row]!) ?? 0));
    before.set(codes[row]!, total);
  }
  return bins.points((sum) => sum);
}

/** What holds each sender, if they are few: shares of each bin in % by cause. */
function held(info: Table, width: number): Shares | null {
  const words = info.words("flow");
  const names = present(words);
  if (names.length < 1 || names.length > MOST_FLOWS) return null;
  const [at, rtt] = [info.instants, info.numbers("rtt")];
  const counters = Object.values(HELD).map((column) => info.numbers(column));
  return {
    width: width / 1e9,
    flows: Object.fromEntries(names.map((name) => {
      const code = words.known.indexOf(name);
      const rows = [...words.codes.keys()].filter((row) => words.codes[row] === code);
      const place = (row: number) => Math.ceil(at[row]! / width);
      // The last sample of each bin; the first of them begins.
      const lasts = rows.filter((row, order) => order + 1 === rows.length || place(rows[order + 1]!) > place(row));
      return [name, causes(lasts, { at, rtt, counters }, width)];
    })),
  };
}

interface Sockets {
  at: Float64Array;
  /** Missing until the peer has answered the handshake. */
  rtt: Float64Array;
  counters: Float64Array[];
}

function causes(lasts: number[], { at, rtt, counters }: Sockets, width: number): Shares["flows"][string] {
  const names = [...Object.keys(HELD), "other", "handshake"];
  const shares: Record<string, number[]> = Object.fromEntries(names.map((name) => [name, []]));
  const t: number[] = [];
  for (let order = 1; order < lasts.length; order++) {
    const [from, to] = [lasts[order - 1]!, lasts[order]!];
    const lasted = (at[to]! - at[from]!) / 1000;
    const spent = counters.map((each) => each[to]! - each[from]!);
    const rest = lasted - spent.reduce((sum, each) => sum + each, 0);
    const [idle, answered] = [spent.pop()! + Math.min(0, rest), !Number.isNaN(rtt[to])];
    [...spent, answered ? idle : 0, Math.max(0, rest), answered ? 0 : idle].forEach((each, place) => {
      shares[names[place]!]!.push((100 * each) / lasted);
    });
    t.push((Math.ceil(at[to]! / width) * width) / 1e9);
  }
  return { t, shares: some(shares) };
}

/** Who had the air of each channel: shares of each bin in %. */
function air(table: Table | undefined, width: number, { channels, duration_ns: duration }: Known): Shares | null {
  if (!table || !Object.keys(channels).length) return null;
  const bins = Math.ceil(duration / width);
  const t = Array.from({ length: bins }, (_, place) => ((place + 1) * width) / 1e9);
  const times = onAir(table, width, bins);
  return {
    width: width / 1e9,
    flows: Object.fromEntries(Object.entries(channels).map(([channel, hosts]) => {
      const of = (name: string) => Array.from(times.get(name)!, (time) => (100 * time) / width);
      // A collision is not known to be of one channel.
      const names = [...hosts, "collisions"].filter((name) => times.has(name));
      const shares = new Map(names.map((name) => [name, of(name)]));
      return [channel, { t, shares: largest(shares, bins) }];
    })),
  };
}

/** How long the PPDUs of each sender lasted in each bin, in ns; those of a collision share its time. */
function onAir(table: Table, width: number, bins: number): Map<string, Float64Array> {
  const found = new Map<string, Float64Array>();
  const [at, lasts, together, from] = [table.instants, table.numbers("duration_us"), table.numbers("colliders"), table.words("from")];
  for (let row = 0; row < table.rows; row++) {
    const owner = together[row]! > 0 ? "collisions" : from.known[from.codes[row]!]!;
    const times = found.get(owner) ?? new Float64Array(bins);
    found.set(owner, times);
    let [begin, left] = [at[row]!, (lasts[row]! * 1000) / Math.max(together[row]!, 1)];
    while (left > 0) {
      const end = (Math.floor(begin / width) + 1) * width;
      const here = Math.min(left, end - begin);
      times[Math.min(Math.floor(begin / width), bins - 1)]! += here;
      [begin, left] = [end, left - here];
    }
  }
  return found;
}

/** The shares of those that have most; what the others have is added. */
function largest(shares: Map<string, number[]>, bins: number): Record<string, number[]> {
  const total = (values: number[]) => values.reduce((sum, value) => sum + value, 0);
  const most = [...shares].sort(([, a], [, b]) => total(b) - total(a));
  const found = Object.fromEntries(most.slice(0, MOST_SENDERS).map(([name, values]) => [name, values.map(tenths)]));
  const rest = most.slice(MOST_SENDERS).map(([, values]) => values);
  if (rest.length) {
    found["others"] = Array.from({ length: bins }, (_, bin) => tenths(rest.reduce((sum, each) => sum + each[bin]!, 0)));
  }
  return found;
}

function some(shares: Record<string, number[]>): Record<string, number[]> {
  const having = Object.entries(shares).filter(([, values]) => values.some(Boolean));
  return Object.fromEntries(having.map(([name, values]) => [name, values.map(tenths)]));
}

function rounded(value: number): number {
  return Number(value.toPrecision(DIGITS));
}

function shown(value: number): number | null {
  return Number.isFinite(value) ? rounded(value) : null;
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}
