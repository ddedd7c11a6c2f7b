// Which operators have a reference, and which a reason to have none: read from the Python files, without Python.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const home = fileURLToPath(new URL('.', import.meta.url));

/**
 * The names in `@reference('sum', ...)` of the files in `references/`, each with its file, and those in
 * `absent.json` with their reasons.
 */
export function referenceNames(folder = home) {
  const references = new Map();
  const inFolder = join(folder, 'references');
  for (const file of readdirSync(inFolder)
    .filter((name) => name.endsWith('.py'))
    .sort()) {
    const text = readFileSync(join(inFolder, file), 'utf8');
    for (const [, list] of text.matchAll(/^(?:@reference|reference)\(((?:\s*'\w+',?)+)/gm)) {
      for (const [, name] of list.matchAll(/'(\w+)'/g)) {
        if (references.has(name)) throw new Error(`${name} has two references`);
        references.set(name, file);
      }
    }
  }
  const absent = new Map(Object.entries(JSON.parse(readFileSync(join(folder, 'absent.json'), 'utf8')))); // prettier-ignore
  const told = JSON.parse(readFileSync(join(folder, 'decided.json'), 'utf8'));
  const decided = Object.keys(told).flatMap((names) => names.split(', '));
  return { references, absent, decided };
}

/** Operators that the tables forgot, have twice, or have although nobody declares them, in words. */
export function problemsOfNames(operators, { references, absent, decided }) {
  const known = new Set(operators);
  return [
    ...operators
      .filter((name) => !references.has(name) && !absent.has(name))
      .map((name) => `${name} has neither a reference in parity/operators/references nor a reason in absent.json`),
    ...[...absent.keys()].filter((name) => references.has(name)).map((name) => `${name} has a reference, and a reason to have none`),
    ...decided.filter((name) => known.has(name) && !references.has(name)).map((name) => `decided.json tells of ${name}, which has no reference`),
    ...[...references.keys(), ...absent.keys(), ...decided.filter((name) => !references.has(name))].filter((name) => !known.has(name)).map((name) => `there is no operator ${name}`),
  ]; // prettier-ignore
}
