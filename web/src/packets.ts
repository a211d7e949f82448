// The packet view: an instant of a run, drawn and told in words, with time to scrub and to play slowly.
import { CAUSES } from "./held.ts";
import { type Instant, type Lane, at, changes } from "./instant.ts";
import type { Log } from "./protocol.ts";
import { swatch as mark } from "./marks.ts";
import { Scene, colour } from "./scene.ts";
import { digits } from "./words.ts";

const LENGTHS: [string, number][] = [["10 ms", 0.01], ["50 ms", 0.05], ["200 ms", 0.2], ["1 s", 1]];
const SPEEDS: [string, number][] = [["1/10", 0.1], ["1/100", 0.01], ["1/1000", 0.001], ["1/10000", 0.0001]];
const STEPS = 1000;
const MOST_TOLD = 24;

/** Asks for the packets from a time on, for so long, in s. */
type Ask = (from: number, length: number) => void;

export class PacketView {
  private log: Log | null = null;
  private times: number[] = [];
  private now = 0;
  private playing = 0;
  private readonly from = input("text", "from (s)");
  private readonly length = choice("for", LENGTHS, 2);
  private readonly speed = choice("speed", SPEEDS, 2);
  private readonly slider = input("range", "instant");
  private readonly play = button("Play", () => this.toggle());
  private readonly clock = document.createElement("output");
  private readonly canvas = document.createElement("canvas");
  private readonly told = document.createElement("ul");
  private readonly legend = document.createElement("ul");
  private readonly body = document.createElement("div");
  private readonly scene = new Scene(this.canvas);

  constructor(parent: HTMLElement, ask: Ask | null) {
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    this.play.hidden = still.matches;
    still.addEventListener("change", () => {
      this.stop();
      this.play.hidden = still.matches;
    });
    if (ask) {
      const look = button("Look", () => ask(Number.parseFloat(this.from.field.value) || 0, Number(this.length.field.value)));
      look.id = "look";
      parent.append(group("window", this.from.root, this.length.root, look));
    }
    const [back, next] = [button("Step back", () => this.step(-1)), button("Step", () => this.step(1))];
    this.slider.field.max = String(STEPS);
    this.slider.field.oninput = () => {
      this.stop();
      this.to(((this.log?.length ?? 0) * Number(this.slider.field.value)) / STEPS);
    };
    this.slider.root.className = "wide";
    this.canvas.setAttribute("role", "img");
    this.legend.className = "legend";
    this.told.setAttribute("aria-label", "what is where at this instant");
    this.body.hidden = true;
    this.body.append(group("time", back, next, this.play, this.speed.root, this.clock), this.slider.root, this.canvas, this.legend, this.told);
    parent.append(this.body);
    new ResizeObserver(() => this.draw()).observe(parent);
  }

  /** What was recorded last, for a page that is saved. */
  get recorded(): Log | null {
    return this.log;
  }

  /** The window begins here when it is looked at next. */
  suggest(from: number): void {
    this.from.field.value = String(Number(from.toPrecision(6)));
  }

  show(log: Log): void {
    this.stop();
    this.log = log;
    this.times = changes(log);
    this.body.hidden = false;
    this.suggest(log.begin);
    this.legend.replaceChildren(...first(log.flows, "flows", (flow, number) => swatch(flow, colour(number))),
      text("tall: data, short: ACKs and others; red frame: sent again, yellow frame: marked CE"));
    this.to(Math.min(log.length / 2, log.length));
  }

  /** The picture is of another setting. */
  clear(): void {
    this.stop();
    this.log = null;
    this.body.hidden = true;
  }

  private to(now: number): void {
    if (!this.log) return;
    this.now = Math.max(0, Math.min(now, this.log.length));
    this.slider.field.value = String(Math.round((STEPS * this.now) / (this.log.length || 1)));
    this.draw();
  }

  private step(by: 1 | -1): void {
    this.stop();
    const later = this.times.findIndex((time) => time > this.now);
    if (by > 0) this.to(later < 0 ? this.now : this.times[later]!);
    else this.to(this.times.filter((time) => time < this.now).at(-1) ?? this.now);
  }

  private toggle(): void {
    if (this.playing) return this.stop();
    if (this.log && this.now >= this.log.length) this.to(0);
    this.play.textContent = "Pause";
    let before = performance.now();
    const frame = (now: number): void => {
      // Nanoseconds of the run for each millisecond here.
      this.to(this.now + (now - before) * 1e6 * Number(this.speed.field.value));
      before = now;
      if (this.log && this.now < this.log.length) this.playing = requestAnimationFrame(frame);
      else this.stop();
    };
    this.playing = requestAnimationFrame(frame);
  }

  private stop(): void {
    if (this.playing) cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.play.textContent = "Play";
  }

  private draw(): void {
    const log = this.log;
    if (!log) return;
    const instant = at(log, this.now);
    const seconds = (log.begin + this.now / 1e9).toFixed(6);
    this.clock.textContent = `${seconds} s`;
    this.slider.field.setAttribute("aria-valuetext", `${seconds} s`);
    this.scene.draw(log, instant, this.now);
    const said = [...lanes(log, instant), ...air(log, instant), ...senders(log, instant)];
    this.canvas.setAttribute("aria-label", `The network at ${seconds} s. ${said.map((each) => each.textContent).join(". ")}`);
    const cut = log.cut ? [text("Packets are too many for the window: it ends where they were cut off")] : [];
    this.told.replaceChildren(...(said.length ? said : [text("nothing is on its way")]), ...cut);
  }
}

function lanes(log: Log, { lanes: all }: Instant): HTMLElement[] {
  const busy = all.flatMap((lane, device) => (Object.values(lane).some((each) => (typeof each === "number" ? each : each.length)) ? [device] : []));
  return first(busy, "devices", (device) => text(`${log.devices[device]!.name}: ${parts(log, all[device]!, log.devices[device]!.radio)}`));
}

function parts(log: Log, lane: Lane, radio: boolean): string {
  const words = [
    [`${lane.queued.length} in the queue${flows(log, lane.queued)}`, lane.queued.length],
    [radio ? `${lane.below.length} in the driver or on the air${flows(log, lane.below)}` : `${lane.below.length} in the ring`, lane.below.length],
    [`${lane.onLink.length} on the link${flows(log, lane.onLink)}`, lane.onLink.length],
    [`${lane.dropped} dropped in this window`, lane.dropped],
  ] as const;
  return words.filter(([, count]) => count).map(([word]) => word).join(", ");
}

/** How many packets of each flow these are. */
function flows(log: Log, rows: number[]): string {
  const counts = new Map<number, number>();
  for (const row of rows) counts.set(log.packets.flow[row]!, (counts.get(log.packets.flow[row]!) ?? 0) + 1);
  const most = [...counts].sort(([, a], [, b]) => b - a);
  const named = most.slice(0, 4).map(([flow, count]) => `${log.flows[flow]} ${count}`);
  return named.length ? ` (${named.join(", ")}${most.length > 4 ? ", …" : ""})` : "";
}

function air(log: Log, instant: Instant): HTMLElement[] {
  const found = log.air;
  if (!found) return [];
  const host = (number: number) => log.hosts[number]!;
  const ppdus = instant.onAir.map((ppdu) => {
    const again = found.tries[ppdu]! ? `, sent ${found.tries[ppdu]! + 1} times` : "";
    const spoilt = found.colliders[ppdu]! ? `, in a collision of ${found.colliders[ppdu]}` : "";
    const closed = found.closed_by[ppdu]!.replaceAll("_", " ");
    return text(`on the air: ${host(found.from[ppdu]!)} to ${host(found.to[ppdu]!)}, ${found.mpdus[ppdu]} MPDUs in `
      + `${digits(found.lasts[ppdu]! / 1e6)} ms, of which ${found.received[ppdu]} arrive, closed by ${closed}${again}${spoilt}`);
  });
  const waiting = [...new Set(instant.waiting.map((ppdu) => host(found.from[ppdu]!)))];
  return [...ppdus, ...(waiting.length ? [text(`waiting for the medium: ${waiting.join(", ")}`)] : [])];
}

function senders(log: Log, instant: Instant): HTMLElement[] {
  const { held_by, cwnd, unacked } = log.senders;
  return first([...instant.senders], "senders", ([flow, row]) => {
    const [name, shade, pattern] = CAUSES[held_by[row]!] ?? [held_by[row]!.replaceAll("_", " "), "#767676", 6];
    return swatch(`${log.flows[flow]}: held by ${name}, ${unacked[row]} of ${cwnd[row]} segments of cwnd in flight`, shade, pattern);
  });
}

/** An item for each; of many, for the first, and how many more there are. */
function first<T>(all: T[], what: string, item: (one: T, number: number) => HTMLElement): HTMLElement[] {
  const more = all.length - MOST_TOLD;
  return [...all.slice(0, MOST_TOLD).map(item), ...(more > 0 ? [text(`and ${more} more ${what}`)] : [])];
}

function text(words: string): HTMLLIElement {
  const found = document.createElement("li");
  found.textContent = words;
  return found;
}

function swatch(words: string, shade: string, pattern = 0): HTMLLIElement {
  const found = text("");
  found.append(mark(shade, pattern), words);
  return found;
}

function button(name: string, act: () => void): HTMLButtonElement {
  const found = document.createElement("button");
  found.type = "button";
  found.textContent = name;
  found.onclick = act;
  return found;
}

function group(name: string, ...parts: HTMLElement[]): HTMLElement {
  const found = document.createElement("div");
  found.className = "tools";
  found.setAttribute("role", "group");
  found.setAttribute("aria-label", name);
  found.append(...parts);
  return found;
}

function input(type: string, name: string): { root: HTMLElement; field: HTMLInputElement } {
  const [root, field] = [document.createElement("label"), document.createElement("input")];
  field.type = type;
  field.setAttribute("aria-label", name);
  root.append(`${name} `, field);
  return { root, field };
}

function choice(name: string, options: [string, number][], chosen: number): { root: HTMLElement; field: HTMLSelectElement } {
  const [root, field] = [document.createElement("label"), document.createElement("select")];
  field.setAttribute("aria-label", name);
  field.append(...options.map(([words, value], place) => new Option(words, String(value), place === chosen, place === chosen)));
  root.append(`${name} `, field);
  return { root, field };
}
