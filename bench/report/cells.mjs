// What text and page have in common.
import { fastest } from '../harness/targets.mjs';
import { digits } from '../harness/units.mjs';

const compute = (rate) => `${digits(rate)} GFLOP/s`;
const copy = (rate) => `${digits(rate)} GB/s`;

/** `wasm 41.0 GFLOP/s, native 237 GFLOP/s`, for a row that the machine limits. */
export function limitsText({ limits }) {
  return Object.entries(limits)
    .map(([technology, { compute: c, copy: m }]) => {
      const parts = [c && compute(c.best), m && copy(m.best)].filter(Boolean);
      return `${technology} ${parts.join(' and ')}`;
    })
    .join(', ');
}

/** Where Kaon computes, each with comparisons of its own. */
export const tiers = ['wasm', 'native', 'auto', 'webgpu'];

/** How many times as fast as this contestant Kaon's fastest form is, by tier; nothing for Kaon's own. */
export function comparisons({ figures }, name) {
  if (name.startsWith('kaon')) return [];
  const found = [];
  for (const tier of tiers) {
    const own = fastest(figures, `kaon ${tier}`);
    if (own === null) continue;
    found.push({ tier: `kaon ${tier}`, times: digits(figures[name].best / own[1].best) });
  }
  return found;
}

/** `kaon wasm: at least 3 times TF.js, measured 4.10: met`. */
export function verdict({ who, wanted, measured, met }) {
  if (met === null) return `${who}: ${wanted}: not measured`;
  return `${who}: ${wanted}: ${measured}, ${met ? 'met' : 'missed'}`;
}
