// The page of `tailback lab`: text and knobs on the left, curves and numbers on the right.
import { COLOURS, Charts, type Drawn } from "./charts.ts";
import { Connection } from "./connection.ts";
import { Editor } from "./editor.ts";
import { strips } from "./held.ts";
import { PacketView } from "./packets.ts";
import { Knobs } from "./knobs.ts";
import type { Answer, Finding, Knob, Picture, Setting } from "./protocol.ts";
import { csv, download, standalone } from "./saving.ts";
import type { Schema } from "./schema.ts";
import { fill } from "./table.ts";
import { packed, unpacked } from "./view.ts";

const TYPED_MS = 350;
const MOST_PINS = COLOURS.length - 1;

interface Pin {
  setting: Setting;
  picture: Picture | null;
  name: string;
}

class Lab {
  private readonly editor: Editor;
  private readonly knobs: Knobs;
  private readonly charts = new Charts(element("charts"));
  private readonly packets = new PacketView(element("packets"), (from, length) => this.look(from, length));
  private readonly connection: Connection;
  private choices: Record<string, string>;
  private pins: Pin[];
  private picture: Picture | null = null;
  private findings: Finding[] = [];
  private asked = 0;
  private turned = 0;
  private timer = 0;
  private checked = "";
  private filling: Pin | null = null;

  constructor(private readonly file: string, view: Setting & { pins: Setting[] }) {
    this.choices = { ...view.choices };
    this.pins = view.pins.slice(0, MOST_PINS).map((setting) => ({ setting, picture: null, name: "" }));
    element<HTMLInputElement>("repeat").value = String(view.repeat);
    this.knobs = new Knobs(element("knobs"), (knob, value) => this.turn(knob, value));
    this.editor = new Editor(element("editor"), view.text, (byKnob, changes) => {
      this.knobs.move((at, side) => changes.mapPos(at, side));
      this.later(byKnob ? 0 : TYPED_MS);
    });
    this.connection = new Connection((answer) => this.heard(answer), (open) => this.connected(open));
    this.buttons();
  }

  know(schema: Schema): void {
    this.editor.know(schema);
  }

  private get repeat(): number {
    return Math.min(30, Math.max(1, Math.round(Number(element<HTMLInputElement>("repeat").value)) || 1));
  }

  private get setting(): Setting {
    return { text: this.editor.text, choices: { ...this.choices }, repeat: this.repeat };
  }

  private turn(knob: Knob, value: string): void {
    this.turned = performance.now();
    if (knob.place) {
      const [from, to] = knob.place;
      this.editor.put(from, to, knob.before ? `${knob.before}${value}\n` : value);
    } else {
      this.choices[knob.id] = value;
      this.later(0);
    }
  }

  private later(ms: number): void {
    clearTimeout(this.timer);
    if (ms) this.timer = setTimeout(() => this.ask(), ms);
    else this.timer = requestAnimationFrame(() => this.ask());
  }

  private ask(): void {
    this.filling = null;
    this.asked += 1;
    this.connection.show({ id: this.asked, ...this.setting });
    say("simulating");
    element<HTMLButtonElement>("stop").disabled = false;
  }

  /** Asks where each packet of the present setting is in a window of time. */
  private look(from: number, length: number): void {
    const end = Math.min(from + length, this.picture?.duration ?? from + length);
    this.filling = null;
    this.asked += 1;
    this.connection.packets({ id: this.asked, ...this.setting, window: [Math.max(0, Math.min(from, end - length)), end] });
    say("simulating");
    element<HTMLButtonElement>("stop").disabled = false;
  }

  private connected(open: boolean): void {
    document.body.dataset["connected"] = String(open);
    if (open) this.ask();
    else {
      element("progress").hidden = true;
      say("The lab does not answer. Start it again with the same --port and open the address that it prints; "
        + "`Copy link` keeps your work.");
    }
  }

  private heard(answer: Answer): void {
    if (answer.type === "wrong") return say(answer.message);
    if (answer.id !== this.asked) return;
    switch (answer.type) {
      case "read":
        if (!this.filling) this.read(answer.knobs, answer.findings, answer.title);
        return;
      case "progress":
        progress(answer.fraction, `run ${answer.done + 1} of ${answer.total}`);
        return;
      case "picture":
        return this.pictured(answer.picture, answer.cached === true);
      case "others":
        return this.note([...this.findings, ...answer.findings]);
      case "packets":
        this.packets.show(answer.view);
        return this.ended("Simulated: scrub, step or play");
      case "axis":
        download(this.file, answer.text, "application/yaml");
        return this.ended("Saved with an axis `setting`: `tailback run` runs all of them");
      case "page":
        void this.keep(answer.live);
        return this.ended(answer.live ? "Saved: the page simulates by itself" : `Saved as it is drawn: ${answer.why}`);
      case "refused":
        this.note(answer.findings);
        return this.ended(this.filling ? "A pinned setting can no longer be read" : `The file has ${count(answer.findings.length, "error")}`);
      case "failed":
        return this.ended(answer.message ?? "The run failed");
      case "stopped":
        return this.ended("Stopped");
    }
  }

  private read(knobs: Knob[], findings: Finding[], title: string): void {
    element("title").textContent = title;
    document.title = `${title} – Tailback lab`;
    this.findings = findings;
    this.note(findings);
    this.knobs.show(knobs);
  }

  private pictured(picture: Picture, cached: boolean): void {
    if (this.filling) this.filling.picture = picture;
    else {
      if (!this.picture) this.packets.suggest((picture.window[0] + picture.window[1]) / 2);
      // A packet that is shown is one of the present setting.
      this.packets.clear();
      this.picture = picture;
    }
    this.draw();
    const took = this.turned ? performance.now() - this.turned : 0;
    this.turned = 0;
    if (took) document.body.dataset["took"] = took.toFixed(1);
    this.ended(cached ? "Known already" : took ? `Simulated, ${Math.round(took)} ms from knob to curve` : "Simulated");
    document.body.dataset["pictures"] = String(Number(document.body.dataset["pictures"] ?? 0) + 1);
    this.next();
  }

  /** What is left to do when the present setting is drawn: pinned ones of a link, then the other configurations. */
  private next(): void {
    const missing = this.pins.find((pin) => !pin.picture);
    if (missing) {
      this.filling = missing;
      this.asked += 1;
      this.connection.show({ id: this.asked, ...missing.setting });
    } else {
      this.filling = null;
      if (this.checked !== this.editor.text) {
        this.checked = this.editor.text;
        this.connection.check({ id: this.asked, ...this.setting });
      }
    }
  }

  /** The settings that are drawn, the present one last. */
  private get drawn(): Drawn[] {
    const drawn: Drawn[] = this.pins.filter((pin) => pin.picture).map((pin, at) => ({
      name: pin.name || `pinned ${at + 1}`,
      colour: COLOURS[at + 1]!,
      picture: pin.picture!,
    }));
    if (this.picture) drawn.push({ name: "now", colour: COLOURS[0]!, picture: this.picture });
    return drawn;
  }

  private draw(): void {
    const pins = this.pins.filter((pin) => pin.picture);
    const drawn = this.drawn;
    if (!drawn.length) return;
    this.charts.draw(drawn);
    if (this.picture) strips(element("held"), this.picture);
    fill(element("table"), drawn, `Means in the measurement window${drawn.length > 1 ? "" : "; pin a setting to compare with it"}`);
    list("cautions", this.picture?.warnings.map((text) => item(text)) ?? []);
    list("expect", (this.picture?.expect ?? []).map(({ text, holds }) => {
      const found = item(`${holds ? "✓" : "✗"} ${text}${holds ? " holds" : " does not hold"}`);
      found.className = holds ? "better" : "worse";
      return found;
    }));
    list("settings", drawn.map((each, at) => this.chip(each, pins[at])));
  }

  private chip(drawn: Drawn, pin: Pin | undefined): HTMLElement {
    const found = item("");
    const swatch = document.createElement("span");
    swatch.className = "swatch";
    swatch.style.background = drawn.colour;
    const seeds = drawn.picture.seeds;
    const told = seeds.length > 1 ? `seeds ${seeds[0]} to ${seeds.at(-1)}` : `seed ${seeds[0]}`;
    found.append(swatch, `${drawn.name} (${told})`);
    if (pin) {
      const remove = document.createElement("button");
      remove.textContent = "×";
      remove.setAttribute("aria-label", `remove ${drawn.name}`);
      remove.onclick = () => {
        this.pins = this.pins.filter((each) => each !== pin);
        this.draw();
      };
      found.append(" ", remove);
    }
    return found;
  }

  private note(findings: Finding[]): void {
    this.editor.mark(findings);
    list("findings", findings.map((each) => {
      const found = item("");
      found.className = each.severity;
      const text = `${each.line === null ? "" : `line ${each.line}: `}${each.path ? `${each.path}: ` : ""}${each.message}`;
      if (each.line === null) found.append(text);
      else {
        const go = document.createElement("button");
        go.textContent = text;
        go.onclick = () => this.editor.goto(each.line!);
        found.append(go);
      }
      const hint = document.createElement("small");
      hint.textContent = ` hint: ${each.hint}`;
      found.append(hint);
      return found;
    }));
  }

  private ended(text: string): void {
    say(text);
    element("progress").hidden = true;
    element<HTMLButtonElement>("stop").disabled = true;
  }

  private buttons(): void {
    element("pin").onclick = () => {
      if (!this.picture) return;
      if (this.pins.length >= MOST_PINS) return say(`At most ${MOST_PINS} settings are pinned: remove one`);
      this.pins.push({ setting: this.setting, picture: this.picture, name: "" });
      this.draw();
      say(`Pinned as ${this.pins.length}: turn a knob and compare`);
    };
    element("stop").onclick = () => this.connection.stop();
    element("repeat").onchange = () => this.later(0);
    element("link").onclick = async () => {
      const fragment = await packed({ ...this.setting, pins: this.pins.map((pin) => pin.setting) });
      history.replaceState(null, "", `#${fragment}`);
      try {
        await navigator.clipboard.writeText(location.href);
        say("The address now holds the whole view, and is copied");
      } catch {
        say("The address now holds the whole view: copy it from the browser's bar");
      }
    };
    element<HTMLSelectElement>("save").onchange = () => void this.save();
  }

  private async save(): Promise<void> {
    const select = element<HTMLSelectElement>("save");
    const kind = select.value;
    select.value = "";
    const stem = this.file.replace(/\.ya?ml$/, "");
    if (kind === "file") download(this.file, this.editor.text, "application/yaml");
    if (kind === "axis") {
      const pinned = this.pins.map((pin, at) => ({ name: `pinned ${at + 1}`, ...pin.setting }));
      const settings = [...pinned, { name: "now", ...this.setting }].map(({ name, text, choices }) => ({ name, text, choices }));
      this.connection.axis({ id: this.asked, ...this.setting, settings });
    }
    if (kind === "data" && this.picture) download(`${stem}.csv`, csv(this.picture), "text/csv");
    if (kind === "page" && this.picture) {
      this.asked += 1;
      this.connection.page({ id: this.asked, ...this.setting });
      say("resolving what each knob may be");
      element<HTMLButtonElement>("stop").disabled = false;
    }
  }

  /** Saves the page that needs no server. */
  private async keep(live: unknown): Promise<void> {
    const drawn = this.drawn.map(({ name, picture }) => ({ name: name === "now" ? "as saved" : name, picture }));
    const page = await standalone({ drawn, text: this.editor.text, log: this.packets.recorded, live });
    download(this.file.replace(/\.ya?ml$/, ".html"), page, "text/html");
  }
}

function element<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

function item(text: string): HTMLLIElement {
  const found = document.createElement("li");
  found.textContent = text;
  return found;
}

function list(id: string, items: HTMLElement[]): void {
  element(id).replaceChildren(...items);
}

function say(text: string): void {
  element("status").textContent = text;
}

function progress(fraction: number, text: string): void {
  const bar = element<HTMLProgressElement>("progress");
  bar.hidden = false;
  bar.value = fraction;
  say(`simulating: ${text}, ${Math.round(100 * fraction)} %`);
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

async function json(name: string): Promise<unknown> {
  return (await fetch(name)).json();
}

async function main(): Promise<void> {
  const start = (await json("start.json")) as { file: string; text: string };
  const view = await unpacked(location.hash);
  const lab = new Lab(start.file, view ?? { text: start.text, choices: {}, repeat: 1, pins: [] });
  lab.know((await json("schema.json")) as Schema);
}

void main();
