// What a page saves: files that a browser downloads.
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
  drawn: { name: string; picture: Picture }[];
  text: string;
  log: Log | null;
  /** What the page needs to simulate by itself; null if it cannot. */
  live: unknown;
}

/** A page with its code and its data, which needs no server and no network (as python/tailback/lab/saving.py makes it). */
export async function standalone({ drawn, text, log, live }: Page): Promise<string> {
  const get = async (name: string) => (await fetch(name)).text();
  const [form, code, thread, style, simulator] = await Promise.all([
    get("saved.html"), get("standalone.js"), get("simulator.js"), get("lab.css"), live ? get("simulator") : "",
  ]);
  const inside = (script: string) => script.replaceAll("</script", "<\\/script");
  const parts: Record<string, string> = {
    title: plain(drawn.at(-1)!.picture.title),
    text: plain(text),
    data: JSON.stringify({ drawn, log, live }).replaceAll("<", "\\u003c"),
    code: inside(code), thread: inside(thread), style, simulator,
  };
  return form.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => parts[name]!);
}

function plain(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
