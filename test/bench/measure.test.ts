import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { benchModule } from './load.js';

interface Entry {
  name: string;
  technology: string;
  result?(): Promise<Float64Array | null>;
  round(milliseconds: number): Promise<number>;
  warm?: boolean;
}
interface Meter {
  technology: string;
  quantity: string;
  form: string;
  round(milliseconds: number): Promise<number>;
}
interface Measured {
  figures: Record<string, { best: number; rounds: number[] }>;
  limits: Record<string, Record<string, { best: number }>>;
  refused: { name: string; reason: string }[];
}
interface Measure {
  measureEntries(
    entries: Entry[],
    meters: Meter[],
    check: { reference?: Float64Array; tolerance?: number },
    options: Record<string, number>,
  ): Promise<Measured>;
}

const { measureEntries } = (await benchModule('harness/measure.mjs')) as Measure;
const options = { rounds: 3, roundMilliseconds: 10, warmupMilliseconds: 40, limitMilliseconds: 5 };
const reference = Float64Array.of(1, 2);

/** Rounds that take what the list says, noted in the order in which they are asked for. */
function entry(name: string, times: number[], order: string[], result = reference): Entry {
  let at = 0;
  return {
    name,
    technology: 'wasm',
    result: async () => result,
    round: async (milliseconds) => {
      order.push(`${name} ${milliseconds}`);
      return times[at++];
    },
  };
}

describe('measuring a row', () => {
  it('warms everybody, then takes turns', async () => {
    const order: string[] = [];
    const entries = [entry('a', [9, 3, 2, 4], order), entry('b', [9, 6, 5, 7], order)];
    const { figures } = await measureEntries(entries, [], { reference }, options);
    const turns = ['a 10', 'b 10'];
    assert.deepEqual(order, ['a 40', 'b 40', ...turns, ...turns, ...turns]);
    assert.deepEqual(figures.a.rounds, [3, 2, 4]);
    assert.equal(figures.b.best, 5);
  });

  it('does not time what computes something else', async () => {
    const order: string[] = [];
    const wrong = entry('wrong', [], order, Float64Array.of(1, 2.1));
    const right = entry('right', [1, 1, 1, 1], order);
    const measured = await measureEntries([wrong, right], [], { reference }, options);
    assert.deepEqual(Object.keys(measured.figures), ['right']);
    assert.match(measured.refused[0].reason, /computes something else/);
    assert.ok(order.every((turn) => turn.startsWith('right')));
  });

  it('leaves out who fails half-way, and goes on with the others', async () => {
    const order: string[] = [];
    let rounds = 0;
    const failing: Entry = {
      name: 'failing',
      technology: 'native',
      round: async () => {
        rounds++;
        if (rounds === 3) throw new Error('out of breath');
        return 1;
      },
    };
    const steady = entry('steady', [9, 1, 2, 3], order);
    const { figures, refused } = await measureEntries(
      [failing, steady],
      [],
      { reference },
      options,
    );
    assert.deepEqual(refused, [{ name: 'failing', reason: 'out of breath' }]);
    assert.deepEqual(Object.keys(figures), ['steady']);
    assert.deepEqual(figures.steady.rounds, [1, 2, 3]);
  });

  it('takes the highest rate of any form as the limit', async () => {
    const meter = (form: string, rate: number): Meter => ({
      technology: 'wasm',
      quantity: 'copy',
      form,
      round: async () => rate,
    });
    const meters = [meter('engine', 10), meter('simd', 12)];
    const { limits } = await measureEntries([], meters, {}, options);
    assert.equal(limits.wasm.copy.best, 12);
  });
});
