// What holds each sender of the present setting: a strip for each flow, in which each cause has its share of a bin.
import type { Held } from "./protocol.ts";
import { digits } from "./words.ts";

const CAUSES: Record<string, [string, string]> = {
  cwnd: ["cwnd", "#0072b2"],
  pacing: ["pacing", "#d55e00"],
  small_queue: ["small queue", "#009e73"],
  receive_window: ["receive window", "#e69f00"],
  send_buffer: ["send buffer", "#7a5c00"],
  no_data: ["application", "#56b4e9"],
  other: ["other", "#8c8c8c"],
};

const [ROW, GAP, LEFT] = [22, 4, 56];

export function strips(parent: HTMLElement, held: Held | null, duration: number): void {
  if (!held) return parent.replaceChildren();
  const figure = document.createElement("figure");
  figure.dataset["quantity"] = "held";
  const caption = document.createElement("figcaption");
  caption.textContent = "What holds each sender";
  const flows = Object.entries(held.flows);
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", flows.map(([flow, { shares }]) => said(flow, shares)).join(" "));
  const width = parent.clientWidth || 600;
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
    row(paint, t.map((end) => [end - held.width, end]), shares, (t) => LEFT + t * across, top);
  });
  paint.fillStyle = ink;
  for (let t = 0; t <= duration; t += step(duration)) paint.fillText(`${digits(t)} s`, LEFT + t * across, height - 4);
  figure.append(caption, legend(flows.map(([, { shares }]) => shares)), canvas);
  parent.replaceChildren(figure);
}

function row(
  paint: CanvasRenderingContext2D, bins: [number, number][], shares: Record<string, number[]>, x: (t: number) => number, top: number,
): void {
  bins.forEach(([begin, end], bin) => {
    let base = top + ROW;
    const [from, to] = [x(begin), x(end)];
    for (const [cause, [, colour]] of Object.entries(CAUSES)) {
      const high = ((shares[cause]?.[bin] ?? 0) / 100) * ROW;
      if (!high) continue;
      base -= high;
      paint.fillStyle = colour;
      paint.fillRect(from, base, to - from + 0.5, high);
    }
  });
}

function step(duration: number): number {
  const rough = duration / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough)!;
}

function legend(flows: Record<string, number[]>[]): HTMLElement {
  const list = document.createElement("ul");
  list.className = "legend";
  for (const [cause, [name, colour]] of Object.entries(CAUSES)) {
    if (!flows.some((each) => each[cause]?.some((share) => share > 0))) continue;
    const item = document.createElement("li");
    const swatch = document.createElement("span");
    swatch.className = "swatch";
    swatch.style.background = colour;
    item.append(swatch, name);
    list.append(item);
  }
  return list;
}

/** The mean share of each cause, in words. */
function said(flow: string, shares: Record<string, number[]>): string {
  const means = Object.entries(CAUSES)
    .map(([cause, [name]]) => [name, mean(shares[cause] ?? [])] as const)
    .filter(([, share]) => share >= 1)
    .sort(([, a], [, b]) => b - a);
  return `${flow}: ${means.map(([name, share]) => `${name} ${Math.round(share)} %`).join(", ")}.`;
}

function mean(values: number[]): number {
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : 0;
}
