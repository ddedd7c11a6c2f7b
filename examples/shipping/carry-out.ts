import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import * as kn from '../../src/index.js';
import { compare } from './compare.js';
import { type Form, write } from './forms.js';
import type { Shipped } from './shipped.js';
import type { Way } from './ways/way.js';

/** What became of a model on a way. */
export type Outcome =
  /** By run, how far from eager results it is, in units of the tolerance. */
  | {
      readonly kind: 'ran';
      readonly units: readonly number[];
      readonly problems: readonly string[];
    }
  /** There is no such file, and the exporter says what would be needed. */
  | { readonly kind: 'unsupported'; readonly why: string }
  | { readonly kind: 'failed'; readonly why: string };

/** Writes a model into folders of `folder`, one for each form, and executes it in some ways. */
export async function carryOut(
  model: Shipped,
  ways: readonly Way[],
  folder: string,
): Promise<readonly Outcome[]> {
  const exports = new Map<Form, Written | Outcome>();
  const outcomes: Outcome[] = [];
  for (const way of ways) {
    const files = exports.get(way.form) ?? exported(way.form, model, folder);
    exports.set(way.form, files);
    outcomes.push('kind' in files ? files : await executed(way, model, files.folder));
  }
  return outcomes;
}

/** The files of a model. */
export interface Written {
  readonly folder: string;
  readonly names: readonly string[];
}

/** Writes a model into a folder of its own inside of `folder`, or says why it could not be written. */
export function exported(form: Form, model: Shipped, folder: string): Written | Outcome {
  const files = join(folder, form);
  mkdirSync(files, { recursive: true });
  try {
    kn.random.seed(model.seed);
    return { folder: files, names: write(form, model, files) };
  } catch (error) {
    if (error instanceof kn.UnsupportedError) return { kind: 'unsupported', why: error.problem };
    return { kind: 'failed', why: reason(error) };
  }
}

/** Executes the files of a model, and compares what comes out with what eager code has computed. */
export async function executed(way: Way, model: Shipped, files: string): Promise<Outcome> {
  try {
    kn.random.seed(model.seed);
    const found = await way.execute(model, files);
    const compared = model.runs.map(({ expected }, i) => compare(expected, found[i]));
    return {
      kind: 'ran',
      units: compared.map(({ units }) => units),
      problems: compared.flatMap(({ problem }, i) => problem === null ? [] : [`${sizesText(model, i)}: ${problem}`]),
    }; // prettier-ignore
  } catch (error) {
    return { kind: 'failed', why: reason(error) };
  }
}

/** `batch 3, time 7`, or which run it is. */
export function sizesText({ runs }: Shipped, run: number): string {
  const sizes = Object.entries(runs[run].sizes).map(([name, size]) => `${name} ${size}`);
  return sizes.join(', ') || `run ${run + 1}`;
}

/** What a library or a process says when it fails, in a line. */
function reason(error: unknown): string {
  const stderr =
    error instanceof Error && 'stderr' in error ? String(error.stderr ?? '').trim() : '';
  const text = stderr || (error instanceof Error ? error.message : String(error));
  return text.replaceAll(/\s+/g, ' ').slice(0, 400);
}
