import assert from "node:assert/strict";
import { test } from "node:test";
import { type Known, picture } from "../src/picture.ts";
import type { Table } from "../src/tables.ts";

const KNOWN: Known = {
  title: "", seed: 1, duration_ns: 3e9, interval_ns: 1e9, window: [0, 3], channels: {}, radios: [],
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

test("the longest queue may be mac80211's, at a radio without a root discipline", () => {
  const columns = { t: [0.5, 0.9, 2.1], queued: [30, 7, 50] };
  const wifi = table(3, columns, { from: ["ap", "ap", "b"], to: ["a", "a", "ap"] });
  const qdisc = table(3, { t: [1, 2, 3], backlog_packets: [9, 5, 5] }, { device: ["x", "x", "x"] });
  const all = new Map(Object.entries({ ...EMPTY, tcp_info: table(0, {}), qdisc, wifi }));
  const members = ["ap", "a", "b"];
  const radios = [{ name: "ap -> air", host: "ap", members }, { name: "b -> air", host: "b", members }];
  assert.deepEqual(picture(all, { ...KNOWN, radios }).curves["queue"]!.mean, [9, 7, 50]);
  assert.deepEqual(picture(all, { ...KNOWN, radios: radios.slice(0, 1) }).curves["queue"]!.mean, [9, 7, 7]);
  const rooted = table(3, { t: [1, 2, 3], backlog_packets: [9, 5, 5] }, { device: ["ap -> air", "ap -> air", "ap -> air"] });
  assert.deepEqual(picture(new Map([...all, ["qdisc", rooted]]), { ...KNOWN, radios: radios.slice(0, 1) }).curves["queue"]!.mean, [9, 5, 5]);
});
