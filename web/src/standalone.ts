// A page that was saved from the lab: its settings, drawn without a server.
import { Charts, type Drawn } from "./charts.ts";
import { strips } from "./held.ts";
import { fill } from "./table.ts";

const drawn = JSON.parse(document.getElementById("data")!.textContent!) as Drawn[];
const last = drawn.at(-1)!.picture;
new Charts(document.getElementById("charts")!).draw(drawn);
strips(document.getElementById("held")!, last);
fill(document.getElementById("table") as HTMLTableElement, drawn);
document.body.dataset["ready"] = "true";
