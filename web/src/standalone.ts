// A page that was saved from the lab: its settings, drawn without a server.
import { Charts, type Drawn } from "./charts.ts";
import { strips } from "./held.ts";
import { PacketView } from "./packets.ts";
import type { Log } from "./protocol.ts";
import { fill } from "./table.ts";

const { drawn, log } = JSON.parse(document.getElementById("data")!.textContent!) as { drawn: Drawn[]; log: Log | null };
new Charts(document.getElementById("charts")!).draw(drawn);
strips(document.getElementById("held")!, drawn.at(-1)!.picture);
fill(document.getElementById("table") as HTMLTableElement, drawn);
if (log) new PacketView(document.getElementById("packets")!, null).show(log);
document.body.dataset["ready"] = "true";
