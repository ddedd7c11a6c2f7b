import { ArgumentError } from '../../base/errors.js';
import { environmentVariable } from '../../base/node.js';

/** Execution tier of programs: WebAssembly, native code, or first one and then the other. */
export type Tier = 'auto' | 'wasm' | 'native';

export const tiers: readonly Tier[] = ['auto', 'wasm', 'native'];

let chosen: Tier | null = null;

/**
 * The tier of programs that are compiled without naming one: the one that was set, or the environment's
 * (`KAON_TIER`), or `auto`.
 * @throws ArgumentError when the environment names an unknown one.
 */
export function defaultTier(): Tier {
  if (chosen !== null) return chosen;
  const wanted = environmentVariable('KAON_TIER') ?? '';
  const tier = wanted === '' ? 'auto' : tiers.find((known) => known === wanted);
  if (tier === undefined) {
    throw new ArgumentError(`there is no tier ${JSON.stringify(wanted)}`, {
      op: 'KAON_TIER',
      expected: tiers.join(', '),
      actual: wanted,
    });
  }
  return (chosen = tier);
}

/** Sets the tier of programs that are compiled from now on. */
export function setDefaultTier(tier: Tier): void {
  chosen = tier;
}
