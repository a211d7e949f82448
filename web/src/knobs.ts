// The knobs: a control for each value that can vary. They stay where they are while the text changes under them.
import type { Knob } from "./protocol.ts";
import { STEPS, number, step, value, word } from "./words.ts";

type Turned = (knob: Knob, value: string) => void;

interface Shown {
  knob: Knob;
  row: HTMLElement;
  set: (knob: Knob) => void;
}

export class Knobs {
  private shown = new Map<string, Shown>();

  constructor(private readonly parent: HTMLElement, private readonly turned: Turned) {}

  /** Shows these knobs; those that were there keep their element, and with it the focus and the range. */
  show(knobs: Knob[]): void {
    const before = this.shown;
    this.shown = new Map();
    for (const knob of knobs) {
      const old = before.get(knob.id);
      const same = old && old.knob.kind === knob.kind && old.knob.options?.join() === knob.options?.join();
      const shown = same ? old : this.make(knob);
      if (same) shown.set(ranged(old.knob, knob));
      this.shown.set(knob.id, shown);
    }
    for (const [id, each] of before) if (this.shown.get(id) !== each) each.row.remove();
    let last: Element | null = null;
    for (const { row } of this.shown.values()) {
      const next: Element | null = last ? last.nextElementSibling : this.parent.firstElementChild;
      if (next !== row) this.parent.insertBefore(row, next);
      last = row;
    }
  }

  /** Moves the places of all knobs as a change of the text has moved them. */
  move(mapped: (at: number, side: -1 | 1) => number): void {
    for (const { knob } of this.shown.values()) {
      if (knob.place && !knob.before) knob.place = [mapped(knob.place[0], -1), mapped(knob.place[1], 1)];
    }
  }

  private make(knob: Knob): Shown {
    const row = document.createElement("div");
    row.className = "knob";
    row.dataset["id"] = knob.id;
    const label = document.createElement("label");
    label.textContent = knob.label;
    const shown: Shown = { knob, row, set: () => {} };
    const turn = (text: string) => this.turned(shown.knob, text);
    const id = `knob-${encodeURIComponent(knob.id)}`;
    label.htmlFor = id;
    row.append(label);
    if (knob.kind === "choice") this.choice(shown, id, turn);
    else this.slider(shown, id, turn);
    return shown;
  }

  private choice(shown: Shown, id: string, turn: (text: string) => void): void {
    const select = document.createElement("select");
    select.id = id;
    for (const option of shown.knob.options ?? []) select.append(new Option(option, option));
    select.value = shown.knob.value;
    select.onchange = () => turn(select.value);
    shown.row.append(select);
    shown.set = (knob) => {
      shown.knob = knob;
      if (select.value !== knob.value) select.value = knob.value;
    };
  }

  private slider(shown: Shown, id: string, turn: (text: string) => void): void {
    const range = document.createElement("input");
    range.type = "range";
    range.id = id;
    range.max = String(STEPS);
    const text = document.createElement("input");
    text.type = "text";
    text.setAttribute("aria-label", `${shown.knob.label} in words`);
    const say = (knob: Knob) => {
      text.value = knob.value;
      range.value = String(step(knob, knob.number!));
      range.setAttribute("aria-valuetext", knob.value);
    };
    range.oninput = () => {
      const words = word(shown.knob, value(shown.knob, Number(range.value)));
      text.value = words;
      range.setAttribute("aria-valuetext", words);
      turn(words);
    };
    text.onchange = () => turn(text.value.trim());
    shown.row.append(range, text);
    say(shown.knob);
    shown.set = (knob) => {
      shown.knob = knob;
      if (document.activeElement === range) {
        if (number(knob, text.value) === knob.number) return;
      }
      if (document.activeElement !== text) say(knob);
    };
  }
}

/** A knob with the range of its slider as it was, unless its value has left it. */
function ranged(old: Knob, knob: Knob): Knob {
  if (knob.number === undefined || old.least === undefined || old.most === undefined) return knob;
  const inside = knob.number >= old.least && knob.number <= old.most;
  return inside ? { ...knob, least: old.least, most: old.most } : knob;
}
