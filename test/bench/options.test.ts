import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { benchModule } from './load.js';

interface Options {
  parseOptions(words: string[]): Record<string, unknown>;
  wanted(words: string[], title: string): boolean;
}

const { parseOptions, wanted } = (await benchModule('harness/options.mjs')) as Options;

describe('options of the benchmark', () => {
  it('puts both tiers side by side where none is asked for', () => {
    const options = parseOptions([]);
    assert.deepEqual(options.tiers, ['wasm', 'native']);
    assert.deepEqual([options.rounds, options.threads, options.clock], [7, 1, 'wall']);
  });

  it('takes what is asked for', () => {
    const options = parseOptions(
      '--only sgemm --only LSTM --tier auto --threads 2 --rounds 9 --json'.split(' '),
    );
    assert.deepEqual(options.only, ['sgemm', 'LSTM']);
    assert.deepEqual(options.tiers, ['auto']);
    assert.deepEqual([options.rounds, options.threads, options.json], [9, 2, true]);
  });

  it('puts Kaon on a GPU in the place of its tiers', () => {
    const { tiers, isGpu } = parseOptions(['--device', 'webgpu']);
    assert.deepEqual([tiers, isGpu], [['webgpu'], true]);
    assert.equal(parseOptions([]).isGpu, false);
    assert.throws(() => parseOptions(['--device', 'tpu']), /cpu, webgpu, software-gpu/);
    for (const words of ['--tier wasm', '--threads 2', '--clock cpu']) {
      assert.throws(() => parseOptions(['--device', 'webgpu', ...words.split(' ')]), /for the CPU/);
    }
  });

  it('makes fewer rounds when it is to be quick, unless told how many', () => {
    assert.equal(parseOptions(['--quick']).rounds, 3);
    assert.equal(parseOptions(['--quick', '--rounds', '5']).rounds, 5);
  });

  it('refuses what is no value of an option', () => {
    assert.throws(() => parseOptions(['--tier', 'fast']), /wasm, native, auto/);
    assert.throws(() => parseOptions(['--rounds', '0']), /whole number/);
    assert.throws(() => parseOptions(['--threads', 'two']), /whole number/);
    assert.throws(() => parseOptions(['--clock', 'sand']), /wall, cpu/);
    assert.throws(() => parseOptions(['--clock', 'cpu', '--threads', '2']), /several threads/);
    assert.throws(() => parseOptions(['--speed']), /speed/);
  });

  it('finds rows by part of their title, whatever the case', () => {
    assert.ok(wanted([], 'sgemm 32'));
    assert.ok(wanted(['conv', 'SGEMM'], 'sgemm 32'));
    assert.ok(!wanted(['conv'], 'sgemm 32'));
  });
});
