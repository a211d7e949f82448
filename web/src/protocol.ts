// What the page and the server say to each other (python/tailback/lab/session.py, worker.py).

export interface Wanted {
  id: number;
  text: string;
  choices: Record<string, string>;
  repeat: number;
  settings?: { name: string; text: string; choices: Record<string, string> }[];
}

export interface Knob {
  id: string;
  label: string;
  kind: "slider" | "choice";
  value: string;
  place?: [number, number];
  before?: string;
  unit?: "rate" | "time" | "size" | "count" | "packets";
  number?: number;
  least?: number;
  most?: number;
  options?: string[];
}

export interface Finding {
  line: number | null;
  path: string;
  message: string;
  hint: string;
  severity: "error" | "warning" | "info";
}

type Numbers = (number | null)[];

export interface Curve {
  title: string;
  unit: string;
  t: number[];
  mean: Numbers;
  low?: Numbers;
  high?: Numbers;
  flows?: Record<string, Numbers>;
}

export interface Row {
  title: string;
  unit: string;
  better: string | null;
  mean: number | null;
  low: number | null;
  high: number | null;
}

/** What holds each sender, or who has the air: by flow or channel and cause the shares of each bin in %. */
export interface Shares {
  width: number;
  flows: Record<string, { t: number[]; shares: Record<string, number[]> }>;
}

export interface Picture {
  title: string;
  seeds: number[];
  duration: number;
  window: [number, number];
  curves: Record<string, Curve>;
  held: Shares | null;
  air: Shares | null;
  table: Row[];
  warnings: string[];
  /** What the file expects of its results. */
  expect: { text: string; holds: boolean }[];
}

export type Answer =
  | { type: "read"; id: number; knobs: Knob[]; findings: Finding[]; title: string }
  | { type: "refused" | "others"; id: number; findings: Finding[] }
  | { type: "progress"; id: number; done: number; total: number; fraction: number }
  | { type: "picture"; id: number; picture: Picture; cached?: boolean }
  | { type: "failed" | "stopped"; id: number; message?: string }
  | { type: "axis"; id: number; text: string }
  | { type: "wrong"; message: string };

/** What a page shows: enough to make it again. */
export interface Setting {
  text: string;
  choices: Record<string, string>;
  repeat: number;
}

export interface View extends Setting {
  pins: Setting[];
}
