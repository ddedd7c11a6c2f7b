import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim.js';
import { add, greater, mean, mul, sum } from '../../../src/ops/index.js';
import { booleanMask } from '../../../src/ops/dynamic/booleanMask.js';

import { compile } from '../../../src/runtime/compile.js';
import type { CompileOptions } from '../../../src/runtime/executable.js';
import { elementsOf, floats, programOf } from '../../support/programs.js';

const targets: readonly NonNullable<CompileOptions['target']>[] = ['interpreter', 'wasm'];
const n = symbol('n');

for (const target of targets) {
  test(`${target}: a mask of a mask`, () => {
    const program = programOf({ x: { dtype: 'float32', shape: [n] } }, ({ x }) => {
      const positive = booleanMask(x, greater(x, 0));
      const large = booleanMask(positive, greater(positive, mean(positive)));
      return { positive, large, total: sum(large), doubled: mul(large, 2) };
    });
    const executable = compile(program, { target });
    for (const x of [[1, -2, 3, 4, -5, 6], [], [-1], [2], [5, 5, 5], [1, 2, 3, -4]]) {
      const results = executable.run([floats([x.length], x)]);
      const positive = x.filter((e) => e > 0);
      const average = positive.reduce((a, b) => a + b, 0) / positive.length;
      const large = positive.filter((e) => e > average);
      assert.deepEqual(results.map(elementsOf), [
        positive,
        large,
        [large.reduce((a, b) => a + b, 0)],
        large.map((e) => 2 * e),
      ]);
      assert.deepEqual(results[1].shape, [large.length]);
    }
    executable.release();
  });
}
