// A page that was saved from the lab: its settings, drawn without a server; and one more that it simulates itself.
import { Charts, COLOURS, type Drawn } from "./charts.ts";
import { strips } from "./held.ts";
import { type Live, LivePage } from "./live.ts";
import { PacketView } from "./packets.ts";
import type { Log, Picture } from "./protocol.ts";
import { fill, means } from "./table.ts";

interface Saved {
  drawn: { name: string; picture: Picture }[];
  log: Log | null;
  live: Live | null;
}

const element = (id: string): HTMLElement => document.getElementById(id)!;
const { drawn, log, live } = JSON.parse(element("data").textContent!) as Saved;
const charts = new Charts(element("charts"));
show(drawn, "Means in the measurement window");
if (log) {
  element("packets").hidden = false;
  new PacketView(element("packets"), null).show(log);
}
if (live) {
  element("turn").hidden = false;
  document.body.classList.add("live");
  new LivePage(element("turn"), live, turned);
}
document.body.dataset["ready"] = "true";

/** The setting of the knobs beside those that were saved, which are compared by what can be drawn of both. */
function turned(now: Picture): void {
  const all = [...drawn, { name: "your setting", picture: now }];
  show(all.map((each) => ({ ...each, picture: { ...each.picture, table: means(each.picture) } })), "Means of the curves in the measurement window");
  // For the scripts of a page that this one is a part of.
  Object.assign(globalThis, { tailback: { now } });
}

function show(pictures: Saved["drawn"], caption: string): void {
  // The present setting of the lab has the first colour, as there.
  const all: Drawn[] = pictures.map((each, at) => {
    return { ...each, colour: COLOURS[at < drawn.length ? (at + 1) % drawn.length : at % COLOURS.length]! };
  });
  charts.draw(all);
  strips(element("held"), all.at(-1)!.picture);
  fill(element("table") as HTMLTableElement, all, caption);
  element("settings").replaceChildren(...all.map(({ name, colour }) => {
    const item = document.createElement("li");
    const swatch = document.createElement("span");
    swatch.className = "swatch";
    swatch.style.background = colour;
    item.append(swatch, name);
    return item;
  }));
}
