/* What the browser of `browser.test.ts` runs: every program of the corpus on two threads and on one. */

import { compile } from '../../../src/runtime/compile/compile.js';
import { Device } from '../../../src/runtime/memory/device.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { corpus } from './corpus.js';

/** What a page has found out. */
export interface Found {
  readonly isIsolated: boolean;
  readonly threads: number;
  /** How often the worker has joined a job. */
  readonly joins: number;
  /** Programs whose results are not those of one thread. */
  readonly wrong: readonly string[];
  readonly note: string | null;
  /** Where it has failed, and why. */
  readonly stack?: string;
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

function textOf(outputs: readonly Operand[]): string {
  return outputs
    .map(({ storage: { host } }) => {
      const { buffer, byteOffset, byteLength } = host.slice();
      return String(new Uint8Array(buffer, byteOffset, byteLength));
    })
    .join(';');
}

async function compare(): Promise<Found> {
  const single = new Device();
  const device = new Device({ threads: 2, grain: 1 });
  const wrong: string[] = [];
  let joins = 0;
  for (const { name, program, operands } of corpus) {
    const alone = compile(program, { device: single, tier: 'wasm' });
    const together = compile(program, { device, tier: 'wasm' });
    const expected = operands.map((list) => textOf(alone.run(list)));
    // A worker that cannot be started is never ready, and says why.
    for (let turns = 0; turns < 1000 && device.threads > 1; turns++) {
      together.run(operands.at(-1)!);
      if (device.pool.joins > joins || device.pool.notes.length > 0) break;
      await turn();
    }
    for (let round = 0; round < 3; round++) {
      const found = operands.map((list) => textOf(together.run(list)));
      if (String(found) !== String(expected)) wrong.push(name);
      await turn();
    }
    if (device.threads > 1) ({ joins } = device.pool);
  }
  const { threads, threadNote } = device;
  return { isIsolated: crossOriginIsolated, threads, joins, wrong, note: threadNote };
}

/** Answers, and goes on to the next page. */
export async function main(): Promise<void> {
  const answer = await fetch(`/done${location.pathname}`, {
    method: 'POST',
    body: JSON.stringify(await compare()),
  });
  const next = await answer.text();
  if (next !== '') location.href = next;
}
