import assert from "node:assert/strict";
import { test } from "node:test";
import type { Knob } from "../src/protocol.ts";
import { STEPS, digits, number, step, value, word } from "../src/words.ts";

const knob = (given: Partial<Knob>) => ({ id: "k", label: "k", kind: "slider", ...given }) as Knob;
const rate = knob({ unit: "rate", value: "10mbit", number: 1e7, least: 1e6, most: 1e8 });

test("a number has three digits and no exponent", () => {
  assert.deepEqual([0, 9.5567, 1234.5, 0.000123].map(digits), ["0", "9.56", "1230", "0.000123"]);
});

test("a value has the largest unit that it fills", () => {
  assert.deepEqual([1e9, 2.5e6, 999_900, 64_000].map((each) => word(rate, each)), ["1gbit", "2.5mbit", "1mbit", "64kbit"]);
  const delay = knob({ unit: "time", value: "5ms", number: 0.005 });
  assert.deepEqual([1.5, 0.02, 0.00025].map((each) => word(delay, each)), ["1.5s", "20ms", "250us"]);
});

test("counts and packets are whole and at least one", () => {
  assert.deepEqual([0.2, 2.6].map((each) => word(knob({ unit: "count" }), each)), ["1", "3"]);
  assert.deepEqual([0.2, 33.4].map((each) => word(knob({ unit: "packets" }), each)), ["1p", "33p"]);
});

test("a word gives the number that it was made of", () => {
  for (const each of [1e9, 2.5e6, 64_000]) assert.equal(number(rate, word(rate, each)), each);
  assert.equal(number(rate, "20MBIT"), 2e7);
  assert.equal(number(rate, "fast"), 1e7, "what is no number leaves the knob where it is");
  const bytes = knob({ value: "64kb", number: 64_000 });
  assert.equal(number(bytes, "32kb"), 32_000);
});

test("a slider is logarithmic from its least to its most", () => {
  assert.deepEqual([1e6, 1e7, 1e8].map((each) => step(rate, each)), [0, STEPS / 2, STEPS]);
  assert.ok(Math.abs(value(rate, STEPS / 2) - 1e7) < 1);
});
