// The curves over time: one figure for each quantity, with a line for each setting.
import uPlot from "uplot";
import type { Curve, Picture } from "./protocol.ts";
import { digits } from "./words.ts";

export interface Drawn {
  name: string;
  colour: string;
  picture: Picture;
}

interface Figure {
  root: HTMLElement;
  caption: HTMLElement;
  place: HTMLElement;
  plot: uPlot | null;
  shape: string;
}

const HEIGHT = 170;
export const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

export class Charts {
  private readonly figures = new Map<string, Figure>();
  private last: Drawn[] = [];

  constructor(private readonly parent: HTMLElement) {
    new ResizeObserver(() => this.resize()).observe(parent);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.again());
  }

  /** Draws these settings; the last one is the present one, whose flows are drawn, too. */
  draw(drawn: Drawn[]): void {
    this.last = drawn;
    const names = [...new Set(drawn.flatMap((each) => Object.keys(each.picture.curves)))];
    for (const [name, figure] of this.figures) {
      if (!names.includes(name)) {
        figure.plot?.destroy();
        figure.root.remove();
        this.figures.delete(name);
      }
    }
    for (const name of names) this.one(name, drawn);
  }

  private again(): void {
    for (const figure of this.figures.values()) figure.shape = "";
    this.draw(this.last);
  }

  private one(name: string, drawn: Drawn[]): void {
    const having = drawn.filter((each) => each.picture.curves[name]);
    const figure = this.figures.get(name) ?? this.make(name);
    const present = drawn.at(-1)!;
    const lines = having.flatMap((each) => linesOf(each, each.picture.curves[name]!, each === present));
    const first = having[0]!.picture.curves[name]!;
    figure.caption.textContent = `${first.title} (${first.unit})`;
    figure.place.setAttribute("aria-label", said(name, having));
    const data = uPlot.join(lines.map((each) => [each.t, each.values])) as uPlot.AlignedData;
    const shape = JSON.stringify(lines.map(({ label, colour, kind }) => [label, colour, kind]));
    if (figure.plot && figure.shape === shape) {
      figure.plot.setData(data);
      return;
    }
    figure.plot?.destroy();
    figure.shape = shape;
    figure.plot = new uPlot(options(figure.place.clientWidth || 400, lines, first.unit), data, figure.place);
  }

  private make(name: string): Figure {
    const root = document.createElement("figure");
    root.dataset["quantity"] = name;
    const caption = document.createElement("figcaption");
    const place = document.createElement("div");
    place.setAttribute("role", "img");
    root.append(caption, place);
    this.parent.append(root);
    const figure = { root, caption, place, plot: null, shape: "" };
    this.figures.set(name, figure);
    return figure;
  }

  private resize(): void {
    for (const { plot, place } of this.figures.values()) {
      if (plot && place.clientWidth && place.clientWidth !== plot.width) {
        plot.setSize({ width: place.clientWidth, height: HEIGHT });
      }
    }
  }
}

interface Line {
  label: string;
  colour: string;
  kind: "mean" | "flow" | "edge";
  t: number[];
  values: (number | null)[];
}

function linesOf(each: Drawn, curve: Curve, present: boolean): Line[] {
  const { name: label, colour } = each;
  const lines: Line[] = [{ label, colour, kind: "mean", t: curve.t, values: curve.mean }];
  if (curve.low && curve.high) {
    lines.push({ label: "", colour, kind: "edge", t: curve.t, values: curve.high });
    lines.push({ label: "", colour, kind: "edge", t: curve.t, values: curve.low });
  }
  if (present) {
    for (const [flow, values] of Object.entries(curve.flows ?? {})) {
      lines.push({ label: flow, colour, kind: "flow", t: curve.t, values });
    }
  }
  return lines;
}

/** What a figure shows, in words. */
function said(name: string, drawn: Drawn[]): string {
  const parts = drawn.map(({ name: label, picture }) => {
    const curve = picture.curves[name]!;
    const [from, to] = picture.window;
    const inside = curve.mean.filter((value, at) => value !== null && curve.t[at]! > from && curve.t[at]! <= to) as number[];
    if (!inside.length) return `${label}: nothing in the window`;
    const mean = inside.reduce((sum, value) => sum + value, 0) / inside.length;
    return `${label}: mean ${digits(mean)}, from ${digits(Math.min(...inside))} to ${digits(Math.max(...inside))}`;
  });
  const { title, unit } = drawn[0]!.picture.curves[name]!;
  return `${title} over time in ${unit}. ${parts.join("; ")}.`;
}

function options(width: number, lines: Line[], unit: string): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const [ink, grid] = [style.getPropertyValue("--ink").trim(), style.getPropertyValue("--grid").trim()];
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "12px system-ui" };
  const bands: uPlot.Band[] = [];
  lines.forEach((line, at) => {
    if (line.kind === "edge" && lines[at + 1]?.kind === "edge" && lines[at - 1]?.kind !== "edge") {
      bands.push({ series: [at + 1, at + 2], fill: `${line.colour}33` });
    }
  });
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { sync: { key: "time" }, drag: { x: true, y: false } },
    scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high ?? 1) * 1.06 || 1] } },
    axes: [{ ...axis, values: (_, ticks) => ticks.map((tick) => `${tick} s`) }, { ...axis, size: 56 }],
    series: [
      { label: "t" },
      ...lines.map((line) => ({
        label: `${line.label} (${unit})`,
        stroke: line.kind === "mean" ? line.colour : `${line.colour}88`,
        width: line.kind === "mean" ? 2 : line.kind === "flow" ? 1 : 0,
        spanGaps: true,
        points: { show: false },
      })),
    ],
    bands,
  };
}
