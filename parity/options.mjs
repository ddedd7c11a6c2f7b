import { parseArgs } from 'node:util';

export const usage = `npm run parity -- [OPTION ...]
  --only WORDS   models whose name holds the words; may be given several times
  --ways WORDS   columns whose name holds the words; may be given several times
  --seed N       other random inputs; default 1
  --keep FOLDER  leaves all files there
  --dist DIR     compiled project; default dist
  --list         names of models and columns, nothing executed
  --help`;

/** @throws RangeError and TypeError for what is no option or no value of one */
export function parseOptions(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      only: { type: 'string', multiple: true, default: [] },
      ways: { type: 'string', multiple: true, default: [] },
      seed: { type: 'string', default: '1' },
      keep: { type: 'string' },
      dist: { type: 'string', default: 'dist' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const seed = Number(values.seed);
  if (!Number.isSafeInteger(seed)) throw new RangeError(`--seed is a whole number, not ${values.seed}`); // prettier-ignore
  return { ...values, seed };
}

/** Whether one of the words is part of a name; no words ask for everything. */
export const wanted = (words, name) =>
  words.length === 0 || words.some((word) => name.toLowerCase().includes(word.toLowerCase()));
