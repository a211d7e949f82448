// Numbers in the words of an experiment file, and on the page.
import type { Knob } from "./protocol.ts";

const UNITS: Record<string, [string, number][]> = {
  rate: [["gbit", 1e9], ["mbit", 1e6], ["kbit", 1e3], ["bit", 1]],
  time: [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]],
};

/** A number with three significant digits, without an exponent. */
export function digits(value: number): string {
  if (value === 0) return "0";
  return String(Number(value.toPrecision(3)));
}

/** The value of a slider as the file has it. */
export function word(knob: Knob, value: number): string {
  if (knob.unit === "count") return String(Math.max(1, Math.round(value)));
  if (knob.unit === "packets") return `${Math.max(1, Math.round(value))}p`;
  const units = UNITS[knob.unit ?? ""];
  if (!units) {
    const unit = /[a-zA-Z]+$/.exec(knob.value)?.[0] ?? "";
    const scale = knob.number! / Number.parseFloat(knob.value);
    return `${digits(value / scale)}${unit}`;
  }
  const [name, scale] = units.find(([, each]) => value >= each * 0.9995) ?? units.at(-1)!;
  return `${digits(value / scale)}${name}`;
}

/** The number of such a word. */
export function number(knob: Knob, text: string): number {
  const found = /^([0-9.]+)([a-zA-Z]*)$/.exec(text.trim());
  if (!found) return knob.number!;
  const units = UNITS[knob.unit ?? ""];
  const scale = units?.find(([name]) => name === found[2]!.toLowerCase())?.[1];
  return Number(found[1]) * (scale ?? knob.number! / Number.parseFloat(knob.value));
}

export const STEPS = 1000;

/** The step of a slider: sliders are logarithmic. */
export function step(knob: Knob, value: number): number {
  const [least, most] = [knob.least!, knob.most!];
  return Math.round((STEPS * Math.log(value / least)) / Math.log(most / least));
}

export function value(knob: Knob, at: number): number {
  return knob.least! * (knob.most! / knob.least!) ** (at / STEPS);
}
