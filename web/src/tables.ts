// The tables of a run as the simulator answers them (crates/browser/src/answer.rs).

interface Told {
  name: string;
  kind: "float" | "whole" | "text";
  at: number;
  present: number | null;
  words: string[];
}

interface Head {
  error?: string;
  tables?: Record<string, { rows: number; columns: Told[] }>;
}

export interface Words {
  /** For each row the place of its word, −1 if it has none. */
  codes: Int32Array;
  known: string[];
}

/** The numbers and words of a table; a cell that is missing is NaN. */
export class Table {
  private readonly read = new Map<string, Float64Array>();

  constructor(readonly rows: number, private readonly columns: Map<string, Told>, private readonly cells: ArrayBuffer) {}

  numbers(name: string): Float64Array {
    const known = this.read.get(name);
    if (known) return known;
    const column = this.columns.get(name)!;
    const found = column.kind === "float"
      ? new Float64Array(this.cells, column.at, this.rows)
      : Float64Array.from(new BigUint64Array(this.cells, column.at, this.rows), Number);
    const present = this.present(column);
    const whole = present ? found.map((value, row) => (present[row] ? value : NaN)) : found;
    this.read.set(name, whole);
    return whole;
  }

  words(name: string): Words {
    const column = this.columns.get(name)!;
    const codes = new Int32Array(this.cells, column.at, this.rows);
    const present = this.present(column);
    return { codes: present ? codes.map((code, row) => (present[row] ? code : -1)) : codes, known: column.words };
  }

  /** Instants in ns. */
  get instants(): Float64Array {
    return this.numbers("t").map((t) => Math.round(t * 1e9));
  }

  private present({ present }: Told): Uint8Array | null {
    return present === null ? null : new Uint8Array(this.cells, present, this.rows);
  }
}

/** The tables of an answer; an error if there are none. */
export function tables(answer: ArrayBuffer): Map<string, Table> {
  const length = new DataView(answer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(answer, 4, length))) as Head;
  if (!head.tables) throw new Error(head.error ?? "the simulator has not answered");
  const cells = answer.slice(4 + length);
  return new Map(Object.entries(head.tables).map(([name, { rows, columns }]) => {
    return [name, new Table(rows, new Map(columns.map((column) => [column.name, column])), cells)];
  }));
}
