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
  name: string;
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
    check: {
      reference?: Float64Array;
      errorOf?(result: Float64Array): number;
      tolerance?: number;
    },
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
      name: form,
      technology: 'wasm',
      quantity: 'copy',
      form,
      round: async () => rate,
    });
    const meters = [meter('engine', 10), meter('simd', 12)];
    const { limits } = await measureEntries([], meters, {}, options);
    assert.equal(limits.wasm.copy.best, 12);
  });

  it('holds results against an error of the row, where it has one', async () => {
    const order: string[] = [];
    const errorOf = (result: Float64Array): number => Math.abs(result[0] - 1);
    const entries = [entry('right', [1, 1, 1, 1], order), entry('wrong', [], order, Float64Array.of(Number.NaN))]; // prettier-ignore
    const { figures, refused } = await measureEntries(entries, [], { errorOf }, options);
    assert.deepEqual(Object.keys(figures), ['right']);
    assert.equal(refused[0].name, 'wrong');
  });

  it('ends at the deadline with the rounds that there are', async () => {
    const order: string[] = [];
    const late = { ...options, deadline: performance.now() + 50 };
    const slow: Entry = {
      name: 'slow',
      technology: 'webgpu',
      round: async () => {
        await new Promise((resolve) => setTimeout(resolve, 60));
        return 7;
      },
    };
    const entries = [slow, entry('none', [9, 1], order)];
    const { figures, refused } = await measureEntries(entries, [], { reference }, late);
    assert.deepEqual(figures.slow.rounds, [7]);
    assert.deepEqual(refused, [{ name: 'none', reason: 'the time of the row was over' }]);
  });

  it('goes on without a limit that cannot be measured', async () => {
    const broken: Meter = {
      name: 'limit',
      technology: 'webgpu',
      quantity: 'copy',
      form: 'vectors',
      round: async () => {
        throw new Error('lost');
      },
    };
    const steady = entry('steady', [9, 1, 2, 3], []);
    const { figures, limits, refused } = await measureEntries([steady], [broken], {}, options);
    assert.deepEqual([Object.keys(figures), limits], [['steady'], {}]);
    assert.deepEqual(refused, [{ name: 'limit', reason: 'lost' }]);
  });
});
