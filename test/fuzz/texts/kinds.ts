import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { generator } from '../../support/samples.js';
import { dealt, settings } from '../../support/settings.js';
import { shrinkLines } from './lines.js';

/** Something to run, and how: above all the text of a program. */
export interface Written {
  readonly text: string;
}

/** A kind of random programs. */
export interface Kind<P extends Written> {
  make(random: () => number): P;
  /**
   * How a program differs from what it should compute; null where it does not. `seed` chooses its data. `onCompared` is
   * told of each comparison: some programs mean nothing for some data.
   */
  differenceOf(program: P, seed: number, onCompared: () => void): Promise<string | null>;
}

/** A difference without its numbers: what shrinking must keep, so that it does not wander to another fault. */
function kindOf(found: string): string {
  const [line] = found.split('\n');
  return line.includes(' are ') ? line.split(' are ')[0].replaceAll(/\d+/g, '') : line.replaceAll(/\w*\d\w*/g, '').slice(0, 100); // prettier-ignore
}

/** Null where the program of a seed does what it should; else the smallest text that shows what it does. */
export async function reportOf<P extends Written>(
  kind: Kind<P>,
  seed: number,
  onCompared: () => void = () => {},
): Promise<string | null> {
  // prettier-ignore
  const program = kind.make(generator(seed));
  const found = await kind.differenceOf(program, seed, onCompared);
  if (found === null) return null;
  const differenceOf = async (shorter: string): Promise<string | null> => {
    // Some texts call what is no function, which is no difference.
    try {
      return await kind.differenceOf({ ...program, text: shorter }, seed, () => {});
    } catch {
      return null;
    }
  };
  const text = await shrinkLines(program.text, async (shorter) => {
    const other = await differenceOf(shorter);
    return other !== null && kindOf(other) === kindOf(found);
  });
  const { text: _, ...how } = program;
  const told = await differenceOf(text);
  return [
    `${JSON.stringify(how)} of the seed ${seed}: ${told ?? found}`,
    text,
    `KAON_SEED=${seed} KAON_PROGRAMS=1 runs it again.`,
  ].join('\n');
}

/** Tests that so many programs of a kind, or so many at night, do what they should; `skip` says why they cannot. */
export function testKind<P extends Written>(
  name: string,
  kind: Kind<P>,
  daily: number,
  nightly: number,
  skip: string | false = false,
): void {
  // prettier-ignore
  const start = settings.seed ?? 1;
  const count = settings.programs ?? (settings.isLong ? nightly : daily);
  const seeds = dealt(Array.from({ length: count }, (_, i) => start + i));
  test(`${seeds.length} random programs from the seed ${start} on: ${name}`, { skip }, async () => {
    let compared = 0;
    for (const seed of seeds) {
      // Memory is given back when code has returned to the event loop.
      await setImmediate();
      assert.equal(await reportOf(kind, seed, () => compared++), null);
    }
    assert.ok(compared >= seeds.length, `${compared} comparisons for ${seeds.length} programs`);
  });
}
