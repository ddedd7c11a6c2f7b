import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { programToDot } from '../../../src/ir/formats/dot.js';
import { Program, type Value } from '../../../src/ir/program.js';
import { mul } from '../../../src/ops/elementwise/arithmetic.js';

test('every node and every read is drawn', () => {
  const program = new Program();
  const x = program.variable('x', { dtype: 'float32', shape: [symbol('n')] });
  program.setOutputs([{ name: 'y', value: mul<Value>(mul<Value>(x, x), 2) }]);
  assert.equal(
    programToDot(program, 'f'),
    [
      'digraph "f" {',
      '  0 ["label"="x\\nfloat32[n]", "shape"="ellipse"];',
      '  1 ["label"="mul\\nfloat32[n]", "shape"="box"];',
      '  2 ["label"="float32[]", "shape"="plaintext"];',
      '  3 ["label"="mul\\nfloat32[n]\\noutput y", "shape"="box", "peripheries"="2"];',
      '  0 -> 1;',
      '  0 -> 1;',
      '  1 -> 3;',
      '  2 -> 3;',
      '}',
      '',
    ].join('\n'),
  );
});
