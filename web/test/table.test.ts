import assert from "node:assert/strict";
import { test } from "node:test";
import type { Row } from "../src/protocol.ts";
import { difference } from "../src/table.ts";

const row = (mean: number, unit = "Mbit/s", better = "high", half: number | null = null): Row => ({
  title: "", unit, better, mean, low: half === null ? null : mean - half, high: half === null ? null : mean + half,
});

test("a change has the colour of better or worse", () => {
  assert.deepEqual(difference(row(90), row(100)), ["−10 %", "worse"]);
  assert.deepEqual(difference(row(20, "ms", "low"), row(40, "ms", "low")), ["−50 %", "better"]);
});

test("what nobody would call a change has no colour", () => {
  assert.equal(difference(row(98), row(100))[1], "same");
  assert.equal(difference(row(10.4, "ms", "low"), row(10, "ms", "low"))[1], "same");
  assert.equal(difference(row(0.8, "ms", "low"), row(0.4, "ms", "low"))[1], "same");
});

test("what repetitions do not tell apart has no colour", () => {
  assert.equal(difference(row(80, "Mbit/s", "high", 15), row(100, "Mbit/s", "high", 15))[1], "same");
  assert.equal(difference(row(60, "Mbit/s", "high", 15), row(100, "Mbit/s", "high", 15))[1], "worse");
});
