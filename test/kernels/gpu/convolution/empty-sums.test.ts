import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Program, type Value } from '../../../../src/ir/program.js';
import { conv, convTranspose } from '../../../../src/ops/index.js';
import { Storage } from '../../../../src/runtime/memory/storage.js';
import { ProgramsOnGrid } from '../../../support/gpu-programs.js';

/* Sums of no terms: the interpreter refuses to read what is not there. */

const options = { padding: 'same', strides: 2 } as const;

interface Case {
  readonly x: readonly number[];
  readonly w: readonly number[];
  readonly of: (x: Value, w: Value) => Value;
}

const cases: Readonly<Record<string, Case>> = {
  'a convolution': { x: [1, 0, 4, 3], w: [3, 0, 3, 1], of: (x, w) => conv(x, w, options) },
  'a transposed convolution': {
    x: [1, 0, 4, 3],
    w: [0, 3, 3, 1],
    of: (x, w) => convTranspose(x, w, options),
  },
};

for (const [name, { x, w, of }] of Object.entries(cases)) {
  test(`${name} of no channels is zero`, async () => {
    const program = new Program();
    const operands = [x, w].map((shape, k) =>
      program.variable(`x${k}`, { dtype: 'float32', shape }),
    );
    program.setOutputs([{ name: 'y', value: of(operands[0], operands[1]) }]);
    const nothing = new Storage('float32', new Float32Array(0));
    const [result] = await new ProgramsOnGrid().run(program, [x, w].map((shape) => ({ storage: nothing, shape }))); // prettier-ignore
    const found = result.storage.host as Float32Array;
    assert.ok(found.length > 0);
    assert.deepEqual(found, new Float32Array(found.length));
  });
}
