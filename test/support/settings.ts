import { ArgumentError } from '../../src/base/errors.js';

/** What the environment can ask of laws and random programs. */
export type Setting =
  | 'KAON_SHARD'
  | 'KAON_SEED'
  | 'KAON_PROGRAMS'
  | 'KAON_CALLS'
  | 'KAON_LONG_TESTS'
  | 'KAON_FUZZ_TIER'
  | 'KAON_TEST262';

/** Every setting, and what it does: the one place that says so. */
export const settingTable: Readonly<Record<Setting, string>> = {
  KAON_SHARD:
    'which part of the laws of execution and of the random programs to run, as 2/5: the second of five parts. Default 1/1',
  KAON_SEED:
    'the first seed of random programs, and that of wrong calls. Default 1, or one drawn from the clock for long tests',
  KAON_PROGRAMS: 'how many random programs there are. Default 120, or 10,000 for long tests',
  KAON_CALLS: 'how many wrong calls there are. Default 3,000, or 200,000 for long tests',
  KAON_LONG_TESTS: 'with 1, the tests of a night',
  KAON_FUZZ_TIER: 'the tier of what random programs capture: native, or that of everything else',
  KAON_TEST262: 'a checkout of tc39/test262, of which all tests of statements and expressions run',
};

/** One part of several. */
export interface Shard {
  /** From 0. */
  readonly index: number;
  readonly count: number;
}

export interface Settings {
  readonly shard: Shard;
  /** Null where nothing was asked for. */
  readonly seed: number | null;
  readonly programs: number | null;
  readonly calls: number | null;
  readonly isLong: boolean;
  readonly isFuzzNative: boolean;
  readonly test262: string | null;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws ArgumentError for a value that a setting does not have. */
export function readSettings(env: Environment): Settings {
  return {
    shard: shardOf(env),
    seed: wholeNumber('KAON_SEED', env),
    programs: wholeNumber('KAON_PROGRAMS', env),
    calls: wholeNumber('KAON_CALLS', env),
    isLong: oneOf('KAON_LONG_TESTS', env, '1'),
    isFuzzNative: oneOf('KAON_FUZZ_TIER', env, 'native'),
    test262: env['KAON_TEST262'] || null,
  };
}

/** Those of this process. */
export const settings: Settings = readSettings(process.env);

/** What belongs to this process's part of a list: parts are dealt out, so that they take equally long. */
export function dealt<T>(
  list: readonly T[],
  { index, count }: Shard = settings.shard,
): readonly T[] {
  return list.filter((_, k) => k % count === index);
}

/**
 * The combinations of four lists, the first of at least three elements: all for long tests, otherwise each third, so
 * that every two elements of different lists still meet.
 */
export function* crossed<A, B, C, D>(
  a: readonly A[],
  b: readonly B[],
  c: readonly C[],
  d: readonly D[],
  isLong: boolean = settings.isLong,
): Generator<readonly [A, B, C, D]> {
  for (let i = 0; i < a.length; i++)
    for (let j = 0; j < b.length; j++)
      for (let k = 0; k < c.length; k++)
        for (let l = 0; l < d.length; l++)
          if (isLong || (i + j + k + l) % 3 === 0) yield [a[i], b[j], c[k], d[l]];
}

function shardOf(env: Environment): Shard {
  const text = env['KAON_SHARD'] ?? '';
  if (text === '') return { index: 0, count: 1 };
  const [number, count] = /^(\d+)\/(\d+)$/.exec(text)?.slice(1).map(Number) ?? [0, 0];
  if (number < 1 || number > count)
    refuse('KAON_SHARD', text, 'a part and how many there are, as 2/5');
  return { index: number - 1, count };
}

function wholeNumber(name: Setting, env: Environment): number | null {
  const text = env[name] ?? '';
  if (text === '') return null;
  if (!/^\d+$/.test(text)) refuse(name, text, 'a whole number');
  return Number(text);
}

function oneOf(name: Setting, env: Environment, only: string): boolean {
  const text = env[name] ?? '';
  if (text !== '' && text !== only) refuse(name, text, `${only}, or nothing`);
  return text === only;
}

function refuse(name: Setting, actual: string, expected: string): never {
  throw new ArgumentError(`${JSON.stringify(actual)} is no value of ${name}`, {
    op: name,
    expected,
    actual,
    advice: settingTable[name],
  });
}
