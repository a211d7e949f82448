import assert from "node:assert/strict";
import { test } from "node:test";
import type { View } from "../src/protocol.ts";
import { packed, unpacked } from "../src/view.ts";

const view = { text: "title: ä\n", repeat: 3, choices: { cc: "bbr" }, pins: [{ text: "x", repeat: 1, choices: {} }] } as unknown as View;

test("a fragment holds the whole view, in letters that an address may have", async () => {
  const fragment = await packed(view);
  assert.match(fragment, /^v1=[\w-]+$/);
  assert.deepEqual(await unpacked(`#${fragment}`), view);
});

test("a fragment that is damaged, of another kind or of other types is none", async () => {
  const fragment = await packed(view);
  for (const each of ["", "#", fragment.slice(0, -9), "v2=abc", await packed({ ...view, repeat: "3" } as unknown as View)]) {
    assert.equal(await unpacked(each), null);
  }
});
