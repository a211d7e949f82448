// The drawing of an instant: hosts, both directions of each link, queues, packets, and PPDUs on the air.
import { type Instant, type Lane, layout, progress } from "./instant.ts";
import type { Log } from "./protocol.ts";

const PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#3a9bdc", "#8c564b", "#5d5d5d"];
const [BOX_W, BOX_H, ROW, TOP] = [92, 26, 92, 34];
/** The part of a lane in which packets queue. */
const QUEUE = 0.34;
const MOST_HOSTS = 24;

export const colour = (flow: number): string => PALETTE[flow % PALETTE.length]!;

interface Point {
  x: number;
  y: number;
}

export class Scene {
  private places: Point[] = [];
  private log: Log | null = null;

  constructor(private readonly canvas: HTMLCanvasElement) {}

  /** Draws what is where at `now`. */
  draw(log: Log, instant: Instant, now: number): void {
    if (this.log !== log) this.places = layout(log);
    this.log = log;
    const width = this.canvas.parentElement?.clientWidth || 700;
    const [columns, rows] = [Math.max(...this.places.map(({ x }) => x)), Math.max(...this.places.map(({ y }) => y))];
    const height = TOP + Math.min(rows, MOST_HOSTS) * ROW + 62;
    const scale = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      [this.canvas.width, this.canvas.height] = [width * scale, height * scale];
      this.canvas.style.height = `${height}px`;
    }
    const paint = this.canvas.getContext("2d")!;
    paint.setTransform(scale, 0, 0, scale, 0, 0);
    paint.clearRect(0, 0, width, height);
    paint.font = "12px system-ui";
    const style = getComputedStyle(document.documentElement);
    const [ink, grid, panel] = ["--ink", "--quiet", "--panel"].map((name) => style.getPropertyValue(name).trim());
    const box = Math.min(BOX_W, (width - 8) / (columns + 1) - 8);
    const across = columns ? (width - box - 8) / columns : 0;
    const centre = this.places.map(({ x, y }) => ({ x: 4 + box / 2 + x * across, y: TOP + y * ROW }));
    const pen = { paint, log, now, ink: ink!, grid: grid!, box };
    log.devices.forEach((device, number) => {
      for (const peer of device.peers) line(pen, centre[device.host]!, centre[peer]!, device.radio);
      if (!device.radio) wire(pen, instant.lanes[number]!, centre[device.host]!, centre[device.peers[0]!]!);
      else radio(pen, instant.lanes[number]!, centre[device.host]!);
    });
    for (const ppdu of instant.onAir) inAir(pen, ppdu, centre);
    centre.forEach(({ x, y }, host) => {
      if (this.places[host]!.y > MOST_HOSTS) return;
      paint.fillStyle = panel!;
      paint.strokeStyle = ink!;
      paint.lineWidth = 1;
      paint.beginPath();
      paint.roundRect(x - box / 2, y - BOX_H / 2, box, BOX_H, 5);
      paint.fill();
      paint.stroke();
      paint.fillStyle = ink!;
      paint.textAlign = "center";
      paint.fillText(log.hosts[host]!, x, y + 4, box - 6);
      if (instant.waiting.some((ppdu) => log.air!.from[ppdu] === host)) paint.fillText("back-off", x, y - BOX_H / 2 - 5);
      paint.textAlign = "left";
    });
  }
}

interface Pen {
  paint: CanvasRenderingContext2D;
  log: Log;
  now: number;
  ink: string;
  grid: string;
  box: number;
}

/** The ends of a lane: the right one seen from its sender, so that both directions have one. */
function ends({ box }: Pen, from: Point, to: Point): [Point, Point] {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const long = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / long, dy / long];
  // From the edge of one box to that of the other.
  const cut = Math.min(box / 2 / Math.max(Math.abs(ux), 0.01), BOX_H / 2 / Math.max(Math.abs(uy), 0.01)) + 2;
  const [ox, oy] = [-uy * 9, ux * 9];
  return [
    { x: from.x + ux * cut + ox, y: from.y + uy * cut + oy },
    { x: to.x - ux * cut + ox, y: to.y - uy * cut + oy },
  ];
}

function line({ paint, grid }: Pen, from: Point, to: Point, dashed: boolean): void {
  paint.strokeStyle = grid;
  paint.lineWidth = 1;
  paint.setLineDash(dashed ? [3, 5] : []);
  paint.beginPath();
  paint.moveTo(from.x, from.y);
  paint.lineTo(to.x, to.y);
  paint.stroke();
  paint.setLineDash([]);
}

function wire(pen: Pen, lane: Lane, from: Point, to: Point): void {
  const [begin, end] = ends(pen, from, to);
  const spot = (part: number): Point => ({ x: begin.x + (end.x - begin.x) * part, y: begin.y + (end.y - begin.y) * part });
  const inside = [...lane.below, ...lane.queued];
  // The head of the queue is at its end; more than fit are drawn closer together.
  const gap = Math.min(5 / (Math.hypot(end.x - begin.x, end.y - begin.y) || 1), QUEUE / Math.max(inside.length, 1));
  inside.forEach((row, place) => packet(pen, row, spot(QUEUE - place * gap), place < lane.below.length));
  for (const row of lane.onLink) packet(pen, row, spot(QUEUE + 0.03 + (0.97 - QUEUE) * progress(pen.log, row, pen.now)), true);
  if (inside.length > 1) count(pen, inside.length, spot(QUEUE / 2), to.x >= from.x ? 18 : -10);
}

/** What waits at a radio is beside its host; what is on the air is between the hosts. */
function radio(pen: Pen, lane: Lane, host: Point): void {
  const inside = [...lane.below, ...lane.queued];
  const gap = Math.min(5, pen.box / Math.max(inside.length, 1));
  const y = host.y + BOX_H / 2 + 9;
  inside.forEach((row, place) => packet(pen, row, { x: host.x + pen.box / 2 - 4 - place * gap, y }, place < lane.below.length));
  if (inside.length > 1) count(pen, inside.length, { x: host.x, y }, 18);
}

function count({ paint, ink }: Pen, packets: number, { x, y }: Point, below: number): void {
  paint.fillStyle = ink;
  paint.textAlign = "center";
  paint.fillText(`${packets}`, x, y + below);
  paint.textAlign = "left";
}

/** Data is tall, everything else is small; what is not yet sent is filled in part. */
function packet({ paint, log }: Pen, row: number, { x, y }: Point, left: boolean): void {
  const { flow, what, ecn } = log.packets;
  const tall = what[row] === "data" || what[row] === "retransmission" ? 12 : 5;
  paint.fillStyle = colour(flow[row]!);
  paint.globalAlpha = left ? 1 : 0.8;
  paint.fillRect(x - 2, y - tall / 2, 4, tall);
  paint.globalAlpha = 1;
  if (what[row] === "retransmission" || ecn[row] === "ce") {
    paint.strokeStyle = ecn[row] === "ce" ? "#e0a800" : "#a40e26";
    paint.lineWidth = 1.5;
    paint.strokeRect(x - 3, y - tall / 2 - 1, 6, tall + 2);
  }
}

/** A PPDU: a cell for each of its packets, with those that have been on the air filled. */
function inAir({ paint, log, now, ink }: Pen, ppdu: number, centre: Point[]): void {
  const air = log.air!;
  const [from, to] = [centre[air.from[ppdu]!]!, centre[air.to[ppdu]!]!];
  const inside = air.inside[ppdu]!;
  const [cells, part] = [Math.max(inside.length, 1), (now - air.t[ppdu]!) / Math.max(air.lasts[ppdu]!, 1)];
  const wide = Math.min(5, 150 / cells);
  const middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
  const begin = middle.x - (cells * wide) / 2;
  const rightwards = to.x >= from.x;
  for (let cell = 0; cell < cells; cell++) {
    const number = inside[cell] ?? 0;
    const row = log.packets.packet.indexOf(Math.abs(number));
    const x = rightwards ? begin + (cells - 1 - cell) * wide : begin + cell * wide;
    paint.fillStyle = row < 0 ? ink : colour(log.packets.flow[row]!);
    paint.globalAlpha = cell / cells <= part ? 1 : 0.3;
    paint.fillRect(x, middle.y - 8, Math.max(wide - 1, 1), number < 0 ? 7 : 14);
    paint.globalAlpha = 1;
  }
  paint.strokeStyle = air.colliders[ppdu]! ? "#a40e26" : ink;
  paint.lineWidth = air.colliders[ppdu]! ? 2.5 : 1;
  paint.strokeRect(begin - 3, middle.y - 11, cells * wide + 5, 20);
  paint.fillStyle = ink;
  paint.textAlign = "center";
  paint.fillText(`${rightwards ? "" : "← "}${air.mpdus[ppdu]} MPDUs${rightwards ? " →" : ""}${air.colliders[ppdu]! ? ", collision" : ""}`, middle.x, middle.y + 24);
  paint.textAlign = "left";
}
