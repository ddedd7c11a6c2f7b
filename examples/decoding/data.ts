import * as kn from '../../src/index.js';
import { encodeName, type Name } from '../names/data.js';

/** The character that stands before the first one of a name and behind its last one. */
export const end = 0;

/** Names of any lengths as a model learns to write them, time first. */
export interface SpellingBatch {
  /** The language of each name: int32[names]. */
  readonly languages: kn.NDArray;
  /** The end, then the characters of the name, then ends: int32[time, names]. */
  readonly before: kn.NDArray;
  /** What follows each of them: the characters of the name, then ends. */
  readonly after: kn.NDArray;
  /** 1 up to the first end of `after`, 0 behind it: float32[time, names]. */
  readonly weights: kn.NDArray;
}

/** The axes of a batch that differ from one to the next. */
export const spellingAxes = {
  languages: ['names'],
  before: ['time', 'names'],
  after: ['time', 'names'],
  weights: ['time', 'names'],
} as const;

/** Lays out names side by side. */
export function spellingBatch(
  names: readonly Name[],
  alphabet: ReadonlyMap<string, number>,
): SpellingBatch {
  const spelled = names.map(({ text }) => encodeName(text, alphabet));
  const time = 1 + Math.max(...spelled.map(({ length }) => length));
  const table = (entry: (name: readonly number[], at: number) => number): number[][] =>
    Array.from({ length: time }, (_, at) => spelled.map((name) => entry(name, at)));
  const ints = (values: readonly number[] | readonly number[][]): kn.NDArray =>
    kn.array(values, { dtype: 'int32' });
  return {
    languages: ints(names.map(({ language }) => language)),
    before: ints(table((name, at) => name[at - 1] ?? end)),
    after: ints(table((name, at) => name[at] ?? end)),
    weights: kn.array(table((name, at) => (at <= name.length ? 1 : 0))),
  };
}
