// What a page saves: files that a browser downloads.
import type { Drawn } from "./charts.ts";
import type { Log, Picture } from "./protocol.ts";

export function download(name: string, text: string, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The curves as CSV. */
export function csv(picture: Picture): string {
  const curves = Object.values(picture.curves);
  const times = [...new Set(curves.flatMap((curve) => curve.t))].sort((a, b) => a - b);
  const head = ["t_s", ...curves.map((curve) => `"${curve.title} (${curve.unit})"`)].join();
  const at = curves.map((curve) => new Map(curve.t.map((t, place) => [t, curve.mean[place]])));
  return [head, ...times.map((t) => [t, ...at.map((each) => each.get(t) ?? "")].join())].join("\n") + "\n";
}

export interface Page {
  drawn: Drawn[];
  text: string;
  log: Log | null;
}

/** A page with its code and its data, which needs no server and no network. */
export async function standalone({ drawn, text, log }: Page): Promise<string> {
  const files = ["standalone.js", "lab.css"];
  const [code, style] = await Promise.all(files.map(async (name) => (await fetch(name)).text()));
  const data = JSON.stringify({ drawn, log }).replaceAll("<", "\\u003c");
  const title = plain(drawn.at(-1)!.picture.title);
  const inside = (script: string) => script.replaceAll("</script", "<\\/script");
  const packets = '<section id="packets" aria-labelledby="packets-head"><h2 id="packets-head">Packets at an instant</h2></section>';
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${title}</title><link rel="icon" href="data:,"><style>${style}</style></head>
<body class="saved"><main><h1>${title}</h1>
<ul id="settings">${drawn.map(chip).join("")}</ul>
<div id="charts"></div><div id="held"></div>
${log ? packets : ""}
<div class="scroll" tabindex="0" role="region" aria-label="numbers"><table id="table"></table></div>
<details><summary>The experiment</summary><pre tabindex="0">${plain(text)}</pre></details></main>
<script type="application/json" id="data">${data}</script><script>${inside(code!)}</script></body></html>
`;
}

function chip({ name, colour }: Drawn): string {
  return `<li><span class="swatch" style="background:${colour}"></span>${plain(name)}</li>`;
}

function plain(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
