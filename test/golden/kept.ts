import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkout } from '../support/sources.js';
import { difference } from './difference.js';

const accepts = process.env['KAON_GOLDEN'] === 'accept';

/** Texts of generated code that are kept in a folder, which show what a change does. */
export class KeptTexts {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = join(checkout, 'test/golden', folder);
  }

  /** Fails where a text is not the one that is kept, unless changes are accepted. */
  compare(name: string, text: string): void {
    const file = join(this.#folder, `${name}.txt`);
    if (accepts) {
      mkdirSync(this.#folder, { recursive: true });
      writeFileSync(file, text);
      return;
    }
    const known = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const changes = difference(known, text);
    assert.ok(
      changes === '',
      `the generated code has changed; where that was meant to be, accept it by\n` +
        `  KAON_GOLDEN=accept node scripts/test.mjs test/golden\n` +
        `and look at what git says of test/golden\n\n${changes}`,
    );
  }

  /** Fails where a text is kept of which there is no program. */
  refuseOthers(names: readonly string[]): void {
    const known = new Set(names.map((name) => `${name}.txt`));
    const lost = readdirSync(this.#folder).filter((file) => !known.has(file));
    if (accepts) for (const file of lost) rmSync(join(this.#folder, file));
    else assert.deepEqual(lost, []);
  }
}
