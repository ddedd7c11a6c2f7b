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
      const text = byType.get(type)!.of(code);
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

/** Names of one length together, in batches: character numbers (batch, length) and languages. */
export interface NameBatch {
  readonly characters: number[][];
  readonly languages: number[];
}

/** Batches of names of equal length. `order` gives the names' order. */
export function batchByLength(
  names: readonly Name[],
  alphabet: ReadonlyMap<string, number>,
  batchSize: number,
): NameBatch[] {
  const byLength = new Map<number, NameBatch[]>();
  for (const { text, language } of names) {
    const characters = encodeName(text, alphabet);
    const batches = byLength.get(characters.length) ?? [];
    byLength.set(characters.length, batches);
    let batch = batches.at(-1);
    if (batch === undefined || batch.languages.length === batchSize) {
      batch = { characters: [], languages: [] };
      batches.push(batch);
    }
    batch.characters.push(characters);
    batch.languages.push(language);
  }
  return [...byLength.values()].flat();
}

/** A batch as arrays: character numbers (batch, length) and languages (batch). */
export interface NameArrays {
  readonly characters: kn.NDArray;
  readonly languages: kn.NDArray;
}

export function arraysOf(batch: NameBatch): NameArrays {
  return {
    characters: kn.array(batch.characters, { dtype: 'int32' }),
    languages: kn.array(batch.languages, { dtype: 'int32' }),
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
