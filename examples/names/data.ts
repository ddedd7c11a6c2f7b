import * as kn from '../../src/index.js';

/** The languages to tell apart: ten that share the Latin script. */
export const languages = ['de', 'en', 'es', 'fi', 'fr', 'hu', 'it', 'pl', 'tr', 'vi'] as const;

/** A name as it is written in a language, given by its index. */
export interface Name {
  readonly text: string;
  readonly language: number;
}

/** One entity in so many is held out for testing. */
const heldOutEvery = 5;

const letters = 'abcdefghijklmnopqrstuvwxyz';

/** All codes of two letters; `Intl` knows which of them mean something. */
const pairs = [...letters].flatMap((a) => [...letters].map((b) => a + b));

/**
 * Names of regions, languages and currencies in ten languages, as Unicode CLDR writes them (Node
 * carries it). The split is by entity: what is called Finland, Suomi and Finnország is one entity and
 * lies in one of the sets with all its names. Every fifth entity is
 * held out. Names of more than `longest` characters are left out.
 */
export function loadNames(longest: number = Infinity): {
  readonly train: Name[];
  readonly test: Name[];
} {
  const entities: [Intl.DisplayNamesType, string][] = [
    ...pairs.map((code): [Intl.DisplayNamesType, string] => ['region', code.toUpperCase()]),
    ...pairs.map((code): [Intl.DisplayNamesType, string] => ['language', code]),
    ...Intl.supportedValuesOf('currency').map((code): [Intl.DisplayNamesType, string] => [
      'currency',
      code,
    ]),
  ];
  const writers = languages.map((language) => {
    const byType = new Map<Intl.DisplayNamesType, Intl.DisplayNames>();
    for (const type of ['region', 'language', 'currency'] as const) {
      byType.set(type, new Intl.DisplayNames([language], { type, fallback: 'none' }));
    }
    return byType;
  });
  const sets: { train: Name[]; test: Name[] } = { train: [], test: [] };
  let known = 0;
  for (const [type, code] of entities) {
    const names = writers.flatMap((byType, language): Name[] => {
      const text = byType.get(type)?.of(code);
      const usable = text !== undefined && text !== code && [...text].length <= longest;
      return usable ? [{ text: text.normalize('NFC'), language }] : [];
    });
    if (names.length === 0) continue;
    (known++ % heldOutEvery === 0 ? sets.test : sets.train).push(...names);
  }
  return sets;
}

/** The characters of some names, numbered from 1; 0 stands for any other. */
export function alphabetOf(names: readonly Name[]): ReadonlyMap<string, number> {
  const found = new Set(names.flatMap(({ text }) => [...text.toLowerCase()]));
  return new Map([...found].sort().map((character, i) => [character, i + 1]));
}

/** A name as character numbers. */
export function encodeName(text: string, alphabet: ReadonlyMap<string, number>): number[] {
  return [...text.toLowerCase()].map((character) => alphabet.get(character) ?? 0);
}

/** A batch of names: character numbers (batch, time), filled up with zeros; lengths and languages (batch). */
export interface NameBatch {
  readonly characters: kn.NDArray;
  readonly lengths: kn.NDArray;
  readonly languages: kn.NDArray;
}

/** Names of any lengths in batches of as equal a size as can be, `batchSize` at most, in their order. */
export function batchesOf(
  names: readonly Name[],
  alphabet: ReadonlyMap<string, number>,
  batchSize: number,
): NameBatch[] {
  const count = Math.ceil(names.length / batchSize);
  const start = (i: number): number => Math.round((i * names.length) / count);
  return Array.from({ length: count }, (_, i) =>
    batchOf(names.slice(start(i), start(i + 1)), alphabet),
  );
}

function batchOf(names: readonly Name[], alphabet: ReadonlyMap<string, number>): NameBatch {
  const encoded = names.map(({ text }) => encodeName(text, alphabet));
  const longest = Math.max(...encoded.map((characters) => characters.length));
  const integers = { dtype: 'int32' } as const;
  return {
    characters: kn.array(
      encoded.map((characters) => [...characters, ...Array(longest - characters.length).fill(0)]),
      integers,
    ),
    lengths: kn.array(
      encoded.map((characters) => characters.length),
      integers,
    ),
    languages: kn.array(
      names.map(({ language }) => language),
      integers,
    ),
  };
}

/**
 * The baseline: naive Bayes on single letters with add-one smoothing, the classical first answer to
 * the question. Returns its accuracy on the test names.
 */
export function letterFrequencyAccuracy(train: readonly Name[], test: readonly Name[]): number {
  const alphabet = alphabetOf(train);
  const counts = languages.map(() => new Float64Array(alphabet.size + 1).fill(1));
  const prior = languages.map(() => 1);
  for (const { text, language } of train) {
    prior[language]++;
    for (const character of encodeName(text, alphabet)) counts[language][character]++;
  }
  const logs = counts.map((row) => {
    const total = row.reduce((a, b) => a + b);
    return row.map((count) => Math.log(count / total));
  });
  const right = test.filter(({ text, language }) => {
    const characters = encodeName(text, alphabet);
    const scores = logs.map(
      (row, i) => Math.log(prior[i]) + characters.reduce((sum, c) => sum + row[c], 0),
    );
    return scores.indexOf(Math.max(...scores)) === language;
  });
  return right.length / test.length;
}
