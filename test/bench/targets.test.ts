import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { benchModule } from './load.js';

interface Row {
  unit: string;
  per?: number;
  operations?: number;
  figures: Record<string, { best: number }>;
  shares: Record<string, number>;
}
interface Judgment {
  wanted: string;
  measured: string | null;
  met: boolean | null;
}
interface Targets {
  judge(target: Record<string, unknown>, row: Row): Judgment;
  fastest(figures: Row['figures'], beginning: string): [string, { best: number }] | null;
}
interface Units {
  inUnit(row: { unit: string; per?: number; operations?: number }, amount: number): number;
  digits(value: number): string;
}

const { judge, fastest } = (await benchModule('harness/targets.mjs')) as Targets;
const { inUnit, digits } = (await benchModule('harness/units.mjs')) as Units;

const row: Row = {
  unit: 'ms',
  figures: {
    'kaon wasm eager': { best: 8 },
    'kaon wasm captured': { best: 4 },
    'TF.js': { best: 12 },
  },
  shares: { 'kaon wasm eager': 0.4, 'kaon wasm captured': 0.8 },
};

describe('targets of the benchmark', () => {
  it('hold the fastest form against the peer', () => {
    assert.equal(fastest(row.figures, 'kaon wasm')?.[0], 'kaon wasm captured');
    const { measured, met } = judge({ who: 'kaon wasm', than: 'TF.js', times: 3 }, row);
    assert.deepEqual([measured, met], ['3.00', true]);
    assert.equal(judge({ who: 'kaon wasm', than: 'TF.js', times: 3.1 }, row).met, false);
    assert.equal(judge({ who: 'kaon wasm eager', than: 'TF.js', times: 2 }, row).met, false);
  });

  it('hold it against the limit, and against a number in the unit of the row', () => {
    assert.equal(judge({ who: 'kaon wasm', share: 0.8 }, row).met, true);
    assert.equal(judge({ who: 'kaon wasm', share: 0.85 }, row).met, false);
    const micros: Row = { ...row, unit: 'us', per: 1000 }; // a thousand of them in 4 ms
    assert.deepEqual(judge({ who: 'kaon wasm', most: 4 }, micros), {
      who: 'kaon wasm',
      wanted: 'at most 4 us',
      measured: '4.00 us',
      met: true,
    });
  });

  it('are neither met nor missed where something was not measured', () => {
    for (const target of [
      { who: 'kaon native', than: 'TF.js', times: 1 },
      { who: 'kaon wasm', than: 'PyTorch', times: 1 },
      { who: 'TF.js', share: 0.5 },
    ]) {
      const { measured, met } = judge(target, row);
      assert.deepEqual([measured, met], [null, null]);
    }
  });
});

describe('units of the benchmark', () => {
  it('turn milliseconds into rates, and into parts of runs', () => {
    assert.equal(inUnit({ unit: 'GFLOP/s', operations: 2e9 }, 100), 20);
    assert.equal(inUnit({ unit: 'ns', per: 1e6 }, 5), 5);
    assert.equal(inUnit({ unit: 'KB' }, 20), 20);
  });

  it('show three digits', () => {
    assert.deepEqual([1234.5, 12.345, 0.012345, Infinity].map(digits), [
      '1235',
      '12.3',
      '0.0123',
      '-',
    ]);
  });
});
