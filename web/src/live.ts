// The part of a saved page that runs: knobs whose stops are values of the resolved scenario, and the simulator.
import { picture, type Known } from "./picture.ts";
import type { Picture } from "./protocol.ts";
import type { Asked, Told } from "./simulator.ts";
import { tables } from "./tables.ts";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Path = (string | number)[];
type Change = [Path, Json] | [Path];

/** A knob with a value for each of its stops, and what each changes (python/tailback/lab/live.py). */
export interface LiveKnob {
  id: string;
  label: string;
  kind: "slider" | "choice";
  stops: string[];
  /** The stop of the file. */
  at: number;
  changes: Change[][];
}

export interface Live {
  scenario: Json;
  known: Known;
  knobs: LiveKnob[];
}

interface Shown {
  knob: LiveKnob;
  at: number;
  show: () => void;
}

export class LivePage {
  private readonly shown: Shown[];
  private readonly status: HTMLElement;
  private readonly module: Promise<WebAssembly.Module>;
  private worker: Worker | null = null;
  private asked = 0;
  private done = 0;
  private begun = 0;

  constructor(parent: HTMLElement, private readonly live: Live, private readonly drawn: (now: Picture) => void) {
    const head = document.createElement("h2");
    head.textContent = "Turn";
    const knobs = document.createElement("div");
    knobs.id = "knobs";
    this.shown = live.knobs.map((knob) => this.make(knob, knobs));
    this.status = document.createElement("p");
    this.status.setAttribute("role", "status");
    const back = document.createElement("button");
    back.textContent = "Back to the file";
    back.onclick = () => this.back();
    parent.replaceChildren(head, knobs, back, this.status);
    this.module = simulator();
  }

  private make(knob: LiveKnob, parent: HTMLElement): Shown {
    const row = document.createElement("div");
    row.className = "knob";
    const label = document.createElement("label");
    label.textContent = knob.label;
    label.htmlFor = `knob-${encodeURIComponent(knob.id)}`;
    const control = knob.kind === "choice" ? choice(knob) : slider(knob);
    control.id = label.htmlFor;
    const words = document.createElement("output");
    words.htmlFor.add(control.id);
    const shown: Shown = { knob, at: knob.at, show: () => {
      control.value = String(shown.at);
      words.textContent = knob.stops[shown.at]!;
      if (knob.kind === "slider") control.setAttribute("aria-valuetext", knob.stops[shown.at]!);
    } };
    control.oninput = () => this.turn(shown, Number(control.value));
    row.append(label, control, ...(knob.kind === "choice" ? [] : [words]));
    parent.append(row);
    shown.show();
    return shown;
  }

  private turn(shown: Shown, at: number): void {
    shown.at = at;
    shown.show();
    // What two knobs set is resolved for one of them only.
    const others = this.shown.filter((each) => each !== shown && each.at !== each.knob.at && together(each, shown));
    for (const each of others) {
      each.at = each.knob.at;
      each.show();
    }
    void this.run(others.map(({ knob }) => `${knob.label} is back at ${knob.stops[knob.at]}: ${shown.knob.label} sets the same value`));
  }

  private back(): void {
    for (const each of this.shown) {
      each.at = each.knob.at;
      each.show();
    }
    void this.run([]);
  }

  private async run(remarks: string[]): Promise<void> {
    const id = ++this.asked;
    const begun = performance.now();
    this.status.textContent = "simulating";
    const module = await this.module;
    if (id !== this.asked) return;
    const worker = this.idle();
    worker.onmessage = ({ data }: MessageEvent<Told>) => {
      this.done = data.id;
      if (data.id !== this.asked) return;
      if ("error" in data) return this.say([`The simulator has failed: ${data.error}`]);
      try {
        this.drawn(picture(tables(data.answer), this.live.known));
        this.say([`Simulated in this page: ${Math.round(performance.now() - begun)} ms`, ...remarks]);
        document.body.dataset["simulated"] = String(id);
      } catch (error) {
        this.say([`This setting cannot be simulated: ${(error as Error).message}`]);
      }
    };
    this.begun = id;
    worker.postMessage({ id, module, scenario: JSON.stringify(this.scenario()) } satisfies Asked);
  }

  /** A thread that runs nothing: one that runs for a setting that nobody wants any more is ended. */
  private idle(): Worker {
    if (this.worker && this.done === this.begun) return this.worker;
    this.worker?.terminate();
    const code = document.getElementById("thread")!.textContent!;
    this.worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
    return this.worker;
  }

  /** The resolved scenario with what the knobs change. */
  private scenario(): Json {
    const found = structuredClone(this.live.scenario);
    for (const { knob, at } of this.shown) for (const change of knob.changes[at]!) put(found, change);
    return found;
  }

  private say(sentences: string[]): void {
    this.status.textContent = sentences.join(". ");
  }
}

function choice(knob: LiveKnob): HTMLSelectElement {
  const found = document.createElement("select");
  knob.stops.forEach((stop, at) => found.append(new Option(stop, String(at))));
  return found;
}

function slider(knob: LiveKnob): HTMLInputElement {
  const found = document.createElement("input");
  found.type = "range";
  found.max = String(knob.stops.length - 1);
  return found;
}

/** Whether what two knobs change now is in the same place of the scenario. */
function together(one: Shown, two: Shown): boolean {
  const inside = (outer: Path, inner: Path) => outer.every((step, place) => step === inner[place]);
  return one.knob.changes[one.at]!.some(([path]) => two.knob.changes[two.at]!.some(([other]) => inside(path, other) || inside(other, path)));
}

/** Puts a value into its place; without one removes what is there. */
function put(tree: Json, change: Change): void {
  const way = change[0];
  let place = tree as Record<string | number, Json>;
  for (const step of way.slice(0, -1)) place = place[step] as Record<string | number, Json>;
  const last = way.at(-1)!;
  if (change.length === 2) place[last] = structuredClone(change[1]);
  else delete place[last];
}

/** The module that the page carries: compressed, in letters. */
async function simulator(): Promise<WebAssembly.Module> {
  const letters = document.getElementById("simulator")!.textContent!;
  const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(plain).arrayBuffer());
}
