import { ArgumentError } from '../../base/errors.js';
import { environmentVariable } from '../../base/node.js';

/** Which code programs become: WebAssembly, native code, or the one and later the other. */
export type Tier = 'auto' | 'wasm' | 'native';

export const tiers: readonly Tier[] = ['auto', 'wasm', 'native'];

let chosen: Tier | null = null;

/**
 * The tier of programs that are compiled without naming one: what was set, or else what the environment
 * says (`KAON_TIER`), or else `auto`.
 * @throws ArgumentError where the environment names another.
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
