// Completion: what the schema of experiment files (`tailback schema`) has at a place of a text that is being written.
import type { Completion } from "@codemirror/autocomplete";

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  enum?: unknown[];
  const?: unknown;
  examples?: unknown[];
  description?: string;
  default?: unknown;
}

/** Where something is written: the keys above it, and whether it is the value of the last one. */
export interface At {
  path: (string | number)[];
  value: boolean;
}

/** The place at the end of a text: of block lines by their indentation, and within `{}` and `[]` of the last of them. */
export function pathAt(before: string): At {
  const lines = before.split("\n");
  const last = lines.pop()!;
  const path: (string | number)[] = [];
  let depth = /^(\s*(?:- +)*)/.exec(last)![1]!.length;
  const above: (string | number)[] = [];
  if (/^\s*- /.test(last)) {
    above.unshift(0);
    depth = /^\s*/.exec(last)![0].length + 1;
  }
  for (const line of lines.reverse()) {
    const found = /^(\s*)((?:- +)*)("[^"]*"|'[^']*'|[^\s#:{[][^:{[]*):(?:\s|$)/.exec(line);
    if (!found) continue;
    const indent = found[1]!.length;
    const keyed = indent + found[2]!.length;
    if (keyed < depth) {
      above.unshift(found[3]!.replace(/^["']|["']$/g, ""));
      if (found[2]) above.unshift(0);
      depth = found[2] ? indent + 1 : indent;
    }
  }
  path.push(...above);
  return within(last, path);
}

function within(line: string, path: (string | number)[]): At {
  let value = false;
  const open: ("{" | "[")[] = [];
  const text = line.replace(/^\s*(- +)*/, "");
  let key = "";
  for (const [at, sign] of [...text].entries()) {
    if (sign === "{" || sign === "[") {
      open.push(sign);
      if (sign === "[") path.push(0);
      [value, key] = [false, ""];
    } else if ((sign === "}" || sign === "]") && open.length) {
      if (open.pop() === "[") path.pop();
      path.pop();
      [value, key] = [false, ""];
    } else if (sign === "," && open.length) {
      if (value) path.pop();
      [value, key] = [false, ""];
    } else if (sign === ":" && !value && /\s|^$/.test(text[at + 1] ?? "")) {
      path.push(key.trim());
      [value, key] = [true, ""];
    } else key += sign;
  }
  return { path, value };
}

/** What may stand at a place. */
export function offered(root: Schema, at: At): Completion[] {
  const places = at.path.reduce<Schema[]>(
    (found, step) => found.flatMap((each) => below(root, each, step)),
    flat(root, root),
  );
  const found = new Map<string, Completion>();
  for (const each of places) {
    if (!at.value) {
      for (const [name, child] of Object.entries(each.properties ?? {})) {
        const detail = child.default === undefined || child.default === null ? "" : `default ${String(child.default)}`;
        found.set(name, { label: name, type: "property", apply: `${name}: `, info: child.description ?? "", detail });
      }
    }
    for (const word of [...(each.enum ?? []), ...(each.const === undefined ? [] : [each.const]), ...(each.examples ?? [])]) {
      const scalar = typeof word === "string" || typeof word === "number" || typeof word === "boolean";
      if (at.value && scalar) found.set(String(word), { label: String(word), type: "constant" });
    }
  }
  return [...found.values()];
}

function flat(root: Schema, schema: Schema): Schema[] {
  if (schema.$ref) return flat(root, root.$defs?.[schema.$ref.replace("#/$defs/", "")] ?? {});
  const choices = schema.anyOf ?? schema.oneOf;
  return choices ? [schema, ...choices.flatMap((each) => flat(root, each))] : [schema];
}

function below(root: Schema, schema: Schema, step: string | number): Schema[] {
  if (typeof step === "number") return schema.items ? flat(root, schema.items) : [];
  const named = schema.properties?.[step];
  if (named) return [{ examples: named.examples, enum: named.enum } as Schema, ...flat(root, named)];
  return typeof schema.additionalProperties === "object" ? flat(root, schema.additionalProperties) : [];
}
