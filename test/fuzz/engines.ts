import { registerBackend } from '../../src/index.js';
import { FakeEngine } from '../support/fake-engine.js';

/** Sub-graphs that engines have run, in all programs. */
export const divisions: { engines: FakeEngine[] } = { engines: [] };

/** Name of an engine that supports calls at random: the same for one seed, whatever the call is called with. */
export function dividingBackend(seed: number): string {
  const share = [1, 2, 3][seed % 3];
  const engine = new FakeEngine(`random ${seed}`, {
    supports: ({ op, inputs, outputs, bodies }) => {
      const key = `${seed} ${op} ${JSON.stringify([inputs, outputs, bodies])}`;
      return hashOf(key) % 4 < share;
    },
  });
  registerBackend(engine);
  divisions.engines.push(engine);
  return engine.name;
}

function hashOf(text: string): number {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 16777619) >>> 0;
  }
  return hash >>> 8;
}
