// What the page and the server say to each other (python/tailback/lab/session.py, worker.py).

export interface Wanted {
  id: number;
  text: string;
  choices: Record<string, string>;
  repeat: number;
  window?: [number, number];
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
  /** The middles of the bins, in s. */
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

/** What holds each sender, or who has the air: by flow or channel and cause the shares of each bin in %; `t` are the ends of
 *  the bins. */
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

type Times = number[];

/** Where each packet is in a window, in ns from its beginning (python/tailback/lab/packets.py). */
export interface Log {
  begin: number;
  length: number;
  cut: boolean;
  hosts: string[];
  devices: { name: string; host: number; peers: number[]; radio: boolean; rate: number | null; qdisc: string | null }[];
  flows: string[];
  packets: {
    t: Times;
    dequeued: Numbers;
    sent: Numbers;
    ended: Numbers;
    packet: number[];
    seq: Numbers;
    bytes: number[];
    segments: number[];
    device: number[];
    flow: number[];
    what: string[];
    ecn: string[];
    end: (string | null)[];
  };
  senders: { t: Times; flow: number[]; held_by: string[]; cwnd: number[]; unacked: number[] };
  air: {
    t: Times;
    from: number[];
    to: number[];
    lasts: number[];
    waited: number[];
    mpdus: number[];
    received: number[];
    tries: number[];
    colliders: number[];
    queued: number[];
    closed_by: string[];
    /** The packets in each PPDU by their numbers; those that were lost are negative. */
    inside: number[][];
  } | null;
}

export type Answer =
  | { type: "read"; id: number; knobs: Knob[]; findings: Finding[]; title: string }
  | { type: "refused" | "others"; id: number; findings: Finding[] }
  | { type: "progress"; id: number; done: number; total: number; fraction: number }
  | { type: "picture"; id: number; picture: Picture; cached?: boolean }
  | { type: "failed" | "stopped"; id: number; message?: string }
  | { type: "axis"; id: number; text: string }
  | { type: "packets"; id: number; view: Log }
  | { type: "page"; id: number; live: unknown; why: string }
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
