import assert from "node:assert/strict";
import { test } from "node:test";
import { at, changes, layout, progress } from "../src/instant.ts";
import type { Log } from "../src/protocol.ts";

const device = (name: string, host: number, ...peers: number[]) => ({ name, host, peers, radio: false, rate: 1e7, qdisc: null });

/** Two packets of one device: the second waits for the first; the third is dropped. */
const log = {
  begin: 2, length: 100, cut: false, hosts: ["client", "router", "server"], flows: ["up"],
  devices: [device("client -> router", 0, 1), device("router -> client", 1, 0), device("router -> server", 1, 2), device("server -> router", 2, 1)],
  packets: {
    t: [0, 5, 6], device: [2, 2, 2], dequeued: [0, 20, null], sent: [10, 30, null], ended: [50, 70, 6],
    end: ["arrived", "arrived", "dropped"],
  },
  senders: { t: [0, 40], flow: [0, 0], held_by: ["cwnd", "pacing"], cwnd: [10, 11], unacked: [10, 5] },
  air: { t: [40], waited: [15], lasts: [20] },
} as unknown as Log;

test("a packet is in the queue, below it, on the link, and gone", () => {
  const lane = (now: number) => at(log, now).lanes[2]!;
  assert.deepEqual([lane(7).queued, lane(7).below, lane(7).dropped], [[1], [0], 1]);
  assert.deepEqual([lane(25).below, lane(25).onLink], [[1], [0]]);
  assert.deepEqual([lane(40).onLink], [[0, 1]], "the first to arrive first");
  assert.deepEqual([lane(60).onLink, lane(90).onLink], [[1], []]);
});

test("a PPDU waits for the medium and then is on the air; a sender has its last row", () => {
  assert.deepEqual([24, 25, 40, 60].map((now) => [at(log, now).waiting.length, at(log, now).onAir.length]), [[0, 0], [1, 0], [0, 1], [0, 0]]);
  assert.deepEqual([at(log, 39).senders.get(0), at(log, 40).senders.get(0)], [0, 1]);
});

test("every instant at which something changes is there once, in order", () => {
  assert.deepEqual(changes(log), [0, 5, 6, 10, 20, 30, 40, 50, 60, 70]);
});

test("a packet moves along the link from when it was sent to when it arrives", () => {
  assert.deepEqual([10, 30, 50].map((now) => progress(log, 0, now)), [0, 0.5, 1]);
});

test("hosts stand in a row along the longest path, the first of the file on the left", () => {
  assert.deepEqual(layout(log), [{ x: 0, y: 0 }, { x: 1, y: 0 }, { x: 2, y: 0 }]);
});
