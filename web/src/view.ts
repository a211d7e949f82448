// The whole view in the part of the address that browsers send to nobody.
import type { View } from "./protocol.ts";

async function through(bytes: Uint8Array, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const piped = new Blob([bytes as BlobPart]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

/** The fragment of a view. */
export async function packed(view: View): Promise<string> {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(view)), new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return `v1=${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** The view of a fragment; null if it has none, or one that is damaged. */
export async function unpacked(fragment: string): Promise<View | null> {
  const found = /^#?v1=([\w-]+)$/.exec(fragment);
  if (!found) return null;
  try {
    const binary = atob(found[1]!.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = await through(Uint8Array.from(binary, (c) => c.charCodeAt(0)), new DecompressionStream("deflate-raw"));
    return checked(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return null;
  }
}

function checked(found: View): View | null {
  const sound = [found, ...found.pins].every(
    (each) =>
      typeof each.text === "string" &&
      Number.isInteger(each.repeat) &&
      Object.values(each.choices).every((value) => typeof value === "string"),
  );
  return sound ? found : null;
}
