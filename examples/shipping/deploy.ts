import { statSync } from 'node:fs';
import { join } from 'node:path';
import { executed, exported, type Outcome } from './carry-out.js';
import { tolerance } from './compare.js';
import type { Shipped } from './shipped.js';
import { compiledC, moduleInNode, onnxruntimeInNode, ownImporter, type Way } from './ways/index.js';

/** For each kind of file whatever executes it best, and what does where that is not here. */
const choices: Readonly<Record<string, readonly Way[]>> = {
  ONNX: [onnxruntimeInNode, ownImporter],
  'ES module': [moduleInNode],
  C: [compiledC],
};

/** Somebody who can execute a form here, or why nobody can. */
interface Found {
  readonly way: Way | null;
  readonly what: string;
}

async function chosen(ways: readonly Way[]): Promise<Found> {
  const missing: string[] = [];
  for (const way of ways) {
    const found = await way.available();
    if (found.missing === undefined) {
      return { way, what: [`executed by ${found.what}`, ...missing].join('; ') };
    }
    missing.push(found.missing);
  }
  return { way: null, what: `not executed: ${missing.join('; ')}` };
}

/** What came of shipping a model, in lines, and whether everybody computed what eager code does. */
export interface Deployment {
  readonly lines: readonly string[];
  readonly isRight: boolean;
}

/** Writes a model in all forms, executes each of them here, and compares the results with eager ones. */
export async function deploy(model: Shipped, folder: string): Promise<Deployment> {
  const lines: string[] = [];
  let isRight = true;
  for (const [title, ways] of Object.entries(choices)) {
    const { way, what } = await chosen(ways);
    const files = exported((way ?? ways[0]).form, model, folder);
    if ('kind' in files) {
      lines.push(`${title}: not written: ${outcomeText(files)}`);
      isRight = false;
      continue;
    }
    const sizes = files.names.map((name) => `${name} ${kilobytes(join(files.folder, name))}`);
    const outcome = way === null ? null : await executed(way, model, files.folder);
    lines.push(
      `${title}: ${sizes.join(', ')}`,
      `  ${what}${outcome === null ? '' : `: ${outcomeText(outcome)}`}`,
    );
    isRight &&= outcome === null || (outcome.kind === 'ran' && outcome.problems.length === 0);
  }
  return { lines, isRight };
}

function kilobytes(path: string): string {
  return `${(statSync(path).size / 1024).toFixed(0)} kB`;
}

function outcomeText(outcome: Outcome): string {
  if (outcome.kind !== 'ran') return outcome.why;
  if (outcome.problems.length > 0) return outcome.problems[0];
  const greatest = Math.max(...outcome.units) * tolerance;
  return `computes what eager code does, ${outcome.units.length} times, to ${greatest.toExponential(1)} of the greatest output`;
}
