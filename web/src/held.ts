// Strips over time of the present setting, in which each cause has its share of a bin: what holds each sender, and who had
// the air of a cell. A cause has a colour and a pattern, and its name where it has most of a strip for long.
import { filling, swatch } from "./marks.ts";
import type { Shares } from "./protocol.ts";
import { digits } from "./words.ts";

/** The name, the colour and the pattern of a cause. */
type Mark = [string, string, number];

export const CAUSES: Record<string, Mark> = {
  cwnd: ["cwnd", "#0072b2", 0],
  pacing: ["pacing", "#d55e00", 1],
  small_queue: ["small queue", "#00785a", 2],
  receive_window: ["receive window", "#e69f00", 3],
  send_buffer: ["send buffer", "#7a5c00", 4],
  no_data: ["application", "#2a85b8", 5],
  other: ["other", "#767676", 6],
  handshake: ["handshake", "#a8407c", 7],
};

const SENDERS = ["#0072b2", "#d55e00", "#00785a", "#a8407c", "#7a5c00", "#2a85b8", "#767676"];
const COLLISIONS: Mark = ["collisions", "#1f1f1f", 1];

const [ROW, GAP, LEFT] = [22, 4, 56];
/** A name is written where a cause has most of the strip for so many pixels. */
const ROOM = 74;

interface Strips {
  quantity: string;
  caption: string;
  held: Shares;
  marks: Record<string, Mark>;
}

/** What holds each sender, and who has the air. */
export function strips(parent: HTMLElement, picture: { held: Shares | null; air: Shares | null; duration: number }): void {
  const { held, air, duration } = picture;
  const all: Strips[] = [];
  if (held) all.push({ quantity: "held", caption: "What holds each sender", held, marks: CAUSES });
  if (air) all.push({ quantity: "air", caption: "Who has the air (the rest: responses, waiting, silence)", held: air, marks: senders(air) });
  parent.replaceChildren(...all.map((each) => figure(each, parent.clientWidth || 600, duration)));
}

function senders({ flows }: Shares): Record<string, Mark> {
  const names = [...new Set(Object.values(flows).flatMap(({ shares }) => Object.keys(shares)))];
  return Object.fromEntries(names.map((name, place): [string, Mark] => [
    name, name === "collisions" ? COLLISIONS : [name, SENDERS[place % SENDERS.length]!, place],
  ]));
}

function figure({ quantity, caption: title, held, marks }: Strips, width: number, duration: number): HTMLElement {
  const found = document.createElement("figure");
  found.dataset["quantity"] = quantity;
  const caption = document.createElement("figcaption");
  caption.textContent = title;
  const flows = Object.entries(held.flows);
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", flows.map(([flow, { shares }]) => said(flow, shares, marks)).join(" "));
  const height = flows.length * (ROW + GAP) + 20;
  const scale = devicePixelRatio || 1;
  [canvas.width, canvas.height] = [width * scale, height * scale];
  canvas.style.width = "100%";
  const paint = canvas.getContext("2d")!;
  paint.scale(scale, scale);
  paint.font = "12px system-ui";
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
  const across = (width - LEFT - 8) / duration;
  flows.forEach(([flow, { t, shares }], place) => {
    const top = place * (ROW + GAP);
    paint.fillStyle = ink;
    paint.fillText(flow, 0, top + 15, LEFT - 4);
    const bins = t.map((end): [number, number] => [LEFT + (end - held.width) * across, LEFT + end * across]);
    row(paint, { bins, shares, marks }, top);
    names(paint, { bins, shares, marks }, top);
  });
  paint.fillStyle = ink;
  for (let t = 0; t <= duration; t += step(duration)) paint.fillText(`${digits(t)} s`, LEFT + t * across, height - 4);
  found.append(caption, legend(flows.map(([, { shares }]) => shares), marks), canvas);
  return found;
}

interface Drawn {
  bins: [number, number][];
  shares: Record<string, number[]>;
  marks: Record<string, Mark>;
}

function row(paint: CanvasRenderingContext2D, { bins, shares, marks }: Drawn, top: number): void {
  const bases = bins.map(() => top + ROW);
  for (const [cause, [, colour, pattern]] of Object.entries(marks)) {
    if (!shares[cause]) continue;
    paint.fillStyle = filling(paint, colour, pattern);
    bins.forEach(([from, to], bin) => {
      const high = ((shares[cause]![bin] ?? 0) / 100) * ROW;
      if (!high) return;
      bases[bin]! -= high;
      paint.fillRect(from, bases[bin]!, to - from + 0.5, high);
    });
  }
}

/** The name of a cause where it has at least two thirds of the strip for long. */
function names(paint: CanvasRenderingContext2D, { bins, shares, marks }: Drawn, top: number): void {
  const most = bins.map((_, bin) => Object.keys(marks).find((cause) => (shares[cause]?.[bin] ?? 0) > 66));
  for (let bin = 0, end = 0; bin < bins.length; bin = end) {
    for (end = bin + 1; end < bins.length && most[end] === most[bin]; end++);
    const [from, to] = [bins[bin]![0], bins[end - 1]![1]];
    if (!most[bin] || to - from < ROOM) continue;
    const [name, colour] = marks[most[bin]!]!;
    const wide = Math.min(paint.measureText(name).width, to - from - 8);
    paint.fillStyle = colour;
    paint.fillRect((from + to - wide) / 2 - 4, top + 3, wide + 8, ROW - 6);
    paint.fillStyle = "#ffffff";
    paint.fillText(name, (from + to - wide) / 2, top + 15, wide);
  }
}

function step(duration: number): number {
  const rough = duration / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough)!;
}

function legend(flows: Record<string, number[]>[], marks: Record<string, Mark>): HTMLElement {
  const list = document.createElement("ul");
  list.className = "legend";
  for (const [cause, [name, colour, pattern]] of Object.entries(marks)) {
    if (!flows.some((each) => each[cause]?.some((share) => share > 0))) continue;
    const item = document.createElement("li");
    item.append(swatch(colour, pattern), name);
    list.append(item);
  }
  return list;
}

/** The mean share of each cause, in words. */
function said(flow: string, shares: Record<string, number[]>, marks: Record<string, Mark>): string {
  const means = Object.entries(marks)
    .map(([cause, [name]]) => [name, mean(shares[cause] ?? [])] as const)
    .filter(([, share]) => share >= 1)
    .sort(([, a], [, b]) => b - a);
  return `${flow}: ${means.map(([name, share]) => `${name} ${Math.round(share)} %`).join(", ")}.`;
}

function mean(values: number[]): number {
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : 0;
}
