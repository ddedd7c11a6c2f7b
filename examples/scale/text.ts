import { readFileSync } from 'node:fs';
import * as kn from '../../src/index.js';
import { projectFile } from '../support/paths.js';

/** Prose of this project: the pages that describe it. */
const pages = ['README.md', 'docs/architecture.md', 'docs/scale.md', 'docs/stablehlo.md', 'docs/status.md']; // prettier-ignore

/** A text and the numbers of its characters. */
export interface Text {
  readonly characters: readonly string[];
  /** The different characters, in order; a character's number is its place. */
  readonly alphabet: readonly string[];
}

/** The text of the project's own pages. */
export function readText(): Text {
  const characters = pages.flatMap((page) => [...readFileSync(projectFile(page), 'utf8')]);
  return { characters, alphabet: [...new Set(characters)].sort() };
}

/** A batch of excerpts. */
export interface Excerpts {
  /** Numbers of characters: int32[excerpts, length + 1]. */
  readonly tokens: kn.NDArray;
}

/** The text cut into excerpts of `length` characters and the one behind them. */
export function excerptsOf({ characters, alphabet }: Text, length: number): Excerpts {
  const count = Math.floor((characters.length - 1) / length);
  const table = Array.from({ length: count }, (_, row) =>
    characters.slice(row * length, (row + 1) * length + 1).map((each) => alphabet.indexOf(each)),
  );
  return { tokens: kn.array(table, { dtype: 'int32' }) };
}
