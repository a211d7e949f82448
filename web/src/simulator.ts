// The simulator in a saved page: a thread that runs one scenario after another (crates/browser).

export interface Asked {
  id: number;
  module: WebAssembly.Module;
  scenario: string;
}

export type Told = { id: number; answer: ArrayBuffer } | { id: number; error: string };

interface Simulator {
  memory: WebAssembly.Memory;
  room: (length: number) => number;
  simulate: () => void;
  answer: () => number;
  answered: () => number;
}

/** Each run has an instance of its own: one that has failed is left. */
async function run({ module, scenario }: Asked): Promise<ArrayBuffer> {
  const { exports } = await WebAssembly.instantiate(module, {});
  const simulator = exports as unknown as Simulator;
  const bytes = new TextEncoder().encode(scenario);
  const at = simulator.room(bytes.length);
  new Uint8Array(simulator.memory.buffer, at, bytes.length).set(bytes);
  simulator.simulate();
  const from = simulator.answer();
  return simulator.memory.buffer.slice(from, from + simulator.answered());
}

self.onmessage = async ({ data }: MessageEvent<Asked>) => {
  let told: Told;
  try {
    told = { id: data.id, answer: await run(data) };
  } catch (error) {
    told = { id: data.id, error: String(error) };
  }
  self.postMessage(told, { transfer: "answer" in told ? [told.answer] : [] });
};
