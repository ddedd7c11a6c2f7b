import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { partition } from '../../../src/passes/host/partition.js';
import { runPipeline } from '../../../src/passes/pipeline.js';
import { orders, resultsOf, simulated } from '../../support/simulated.js';
import { corpus } from './corpus.js';

describe('barriers of programs', () => {
  for (const { name, program, operands } of corpus) {
    // What the host runs piece by piece is not one program.
    if (partition(runPipeline(program)) !== null) continue;
    it(`are where threads need them: ${name}`, () => {
      const expected = resultsOf(simulated(program, [0]), operands);
      for (const order of orders) {
        const found = resultsOf(simulated(program, order), operands);
        assert.deepEqual(found, expected, `threads ${order.join()}`);
      }
    });
  }
});
