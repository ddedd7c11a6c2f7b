import { parseArgs } from 'node:util';

export const usage = `npm run parity -- operators [OPTION ...]
  --only NAME    operators of these names; may be given several times
  --seed N       other random elements; default 1
  --samples N    how often random elements are drawn for every sample; default 1
  --tier TIER    eager, captured or native; may be given several times; default all three
  --keep FOLDER  leaves the exchanged files there, and what was found, for each operator
  --resume       takes from that folder what was found by a run that was stopped, or whose files were deleted in part
  --write FILE   the scoreboard; default docs/operators-parity.md where nothing is left out, none otherwise
  --dist DIR     compiled project; default dist
  --list         names of operators and where their references come from, nothing executed
  --help`;

/** How Kaon computes: call by call, captured in WebAssembly, captured in native code. */
export const tiers = ['eager', 'captured', 'native'];

const scoreboard = 'docs/operators-parity.md';

/** @throws RangeError and TypeError for what is no option or no value of one */
export function parseOptions(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      only: { type: 'string', multiple: true, default: [] },
      seed: { type: 'string', default: '1' },
      samples: { type: 'string', default: '1' },
      tier: { type: 'string', multiple: true, default: [] },
      keep: { type: 'string' },
      resume: { type: 'boolean', default: false },
      write: { type: 'string' },
      dist: { type: 'string', default: 'dist' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const strange = values.tier.find((tier) => !tiers.includes(tier));
  if (strange !== undefined) throw new RangeError(`--tier is one of ${tiers.join(', ')}, not ${strange}`); // prettier-ignore
  if (values.resume && values.keep === undefined) throw new RangeError('--resume takes results from the folder that --keep names'); // prettier-ignore
  const isWhole = values.only.length === 0 && values.tier.length === 0;
  return {
    ...values,
    tier: values.tier.length === 0 ? tiers : tiers.filter((tier) => values.tier.includes(tier)),
    seed: wholeNumber('--seed', values.seed, 0),
    samples: wholeNumber('--samples', values.samples, 1),
    write: values.write ?? (isWhole ? scoreboard : null),
  };
}

function wholeNumber(name, text, least) {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new RangeError(`${name} is a whole number from ${least} on, not ${text}`);
}
