// The table: a row for each number, a column for each setting, and how far each is from the first pinned one.
import type { Drawn } from "./charts.ts";
import type { Picture, Row } from "./protocol.ts";
import { digits } from "./words.ts";

export function fill(table: HTMLTableElement, drawn: Drawn[], told: string): void {
  const titles = [...new Set(drawn.flatMap((each) => each.picture.table.map((row) => row.title)))];
  const head = document.createElement("tr");
  head.append(cell("td", ""), ...drawn.map((each) => coloured(cell("th", each.name, "col"), each.colour)));
  const rows = titles.map((title) => {
    const row = document.createElement("tr");
    const found = drawn.map((each) => each.picture.table.find((one) => one.title === title));
    const unit = found.find(Boolean)?.unit ?? "";
    row.append(cell("th", unit ? `${title} (${unit})` : title, "row"));
    found.forEach((each, place) => row.append(number(each, place ? found[0] : undefined)));
    return row;
  });
  const caption = document.createElement("caption");
  caption.textContent = drawn.length > 1 ? `${told}, and the difference from ${drawn[0]!.name}` : told;
  const [top, body] = [document.createElement("thead"), document.createElement("tbody")];
  top.append(head);
  body.append(...rows);
  table.replaceChildren(caption, top, body);
}

/** The means of the curves in the window of measurement: what a page without Tailback's metrics has of a run. */
export function means({ curves, window: [from, to] }: Picture): Row[] {
  return Object.values(curves).map(({ title, unit, t, mean }) => {
    const inside = mean.filter((value, at) => value !== null && t[at]! > from && t[at]! <= to) as number[];
    const total = inside.reduce((sum, value) => sum + value, 0);
    return { title, unit, better: BETTER[title] ?? null, mean: inside.length ? total / inside.length : null, low: null, high: null };
  });
}

const BETTER: Record<string, string> = { Goodput: "high", "TCP RTT": "low", Ping: "low" };

function number(row: Row | undefined, pinned: Row | undefined): HTMLElement {
  if (row?.mean === null || row === undefined) return cell("td", "–");
  const half = row.low !== null && row.high !== null ? ` ± ${digits((row.high - row.low) / 2)}` : "";
  const found = cell("td", `${digits(row.mean)}${half}`);
  if (pinned?.mean !== null && pinned !== undefined) {
    const far = document.createElement("span");
    const [words, better] = difference(row, pinned);
    far.textContent = words;
    far.className = better;
    found.append(" ", far);
  }
  return found;
}

/** Whether nobody would call the difference a change: as in findings, 10 % or 0.5 ms of a latency, and 3 % of the rest; or the
 *  intervals overlap. */
function negligible(row: Row, pinned: Row): boolean {
  const [share, absolute] = row.unit === "ms" ? [0.1, 0.5] : [0.03, 0];
  if (Math.abs(row.mean! - pinned.mean!) <= Math.max(share * Math.abs(pinned.mean!), absolute)) return true;
  if (row.low === null || row.high === null || pinned.low === null || pinned.high === null) return false;
  return row.low <= pinned.high && pinned.low <= row.high;
}

/** How far a number is from the pinned one, and whether that is better. */
export function difference(row: Row, pinned: Row): [string, "better" | "worse" | "same"] {
  const far = row.mean! - pinned.mean!;
  if (far === 0) return ["=", "same"];
  const sign = far > 0 ? "+" : "−";
  const words = pinned.mean ? `${sign}${digits((100 * Math.abs(far)) / Math.abs(pinned.mean))} %` : `${sign}${digits(Math.abs(far))}`;
  if (row.better === null || negligible(row, pinned)) return [words, "same"];
  return [words, (row.better === "high") === far > 0 ? "better" : "worse"];
}

function cell(kind: "td" | "th", text: string, scope = ""): HTMLElement {
  const found = document.createElement(kind);
  found.textContent = text;
  if (scope) found.setAttribute("scope", scope);
  return found;
}

function coloured(found: HTMLElement, colour: string): HTMLElement {
  found.style.borderBottom = `3px solid ${colour}`;
  return found;
}
