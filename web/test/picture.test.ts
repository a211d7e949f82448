import assert from "node:assert/strict";
import { test } from "node:test";
import { type Known, picture } from "../src/picture.ts";
import type { Table } from "../src/tables.ts";

const KNOWN: Known = {
  title: "", seed: 1, duration_ns: 3e9, interval_ns: 1e9, window: [0, 3], channels: {},
};

/** A table of these columns; what it has no numbers of is 0. */
function table(rows: number, columns: Record<string, number[]>, words: Record<string, string[]> = {}): Table {
  const numbers = (name: string) => Float64Array.from(columns[name] ?? Array<number>(rows).fill(0));
  return {
    rows,
    numbers,
    words: (name: string) => {
      const known = [...new Set(words[name] ?? [])];
      return { codes: Int32Array.from((words[name] ?? []).map((word) => known.indexOf(word))), known };
    },
    get instants() {
      return numbers("t").map((t) => Math.round(t * 1e9));
    },
  } as unknown as Table;
}

const EMPTY = { flows: table(0, {}), ping: table(0, {}), qdisc: table(0, {}) };

test("a flow is held by the handshake until it is answered, and then by its application", () => {
  const tcp_info = table(3, { t: [1, 2, 3], rtt: [NaN, NaN, 5000], held_no_data: [0, 1e6, 2e6] }, { flow: ["a", "a", "a"] });
  const { held } = picture(new Map(Object.entries({ ...EMPTY, tcp_info })), KNOWN);
  assert.deepEqual(held!.flows["a"]!.shares, { no_data: [0, 100], handshake: [100, 0] });
});

test("a bin of a curve is dated at its middle", () => {
  const ping = table(3, { t: [0.2, 0.8, 1.7], rtt_ms: [10, 20, 40] });
  const tcp_info = table(0, {});
  const { curves } = picture(new Map(Object.entries({ ...EMPTY, ping, tcp_info })), KNOWN);
  assert.deepEqual(curves["ping"], { title: "Ping", unit: "ms", t: [0.5, 1.5], mean: [15, 40] });
});
