import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { Program } from '../../../src/ir/program.js';
import { verify } from '../../../src/ir/verify.js';
import { exp, mul, sum } from '../../../src/ops/index.js';
import { differentiated } from '../../../src/passes/gradient/gradient.js';
import type { SavePolicy } from '../../../src/passes/gradient/keep.js';
import { splitJoint } from '../../../src/passes/gradient/split.js';
import { evaluate, plain } from '../plain.js';

const n = symbol('n');

/** `a = exp(x) y` and `b = sum(a)`. */
function sample(): Program {
  const program = new Program();
  const x = program.variable('x', { dtype: 'float64', shape: [n, 2] });
  const y = program.variable('y', { dtype: 'float64', shape: [2] });
  const a = mul(exp(x), y);
  program.setOutputs([
    { name: 'a', value: a },
    { name: 'b', value: sum(a) },
  ]);
  return program;
}

const rows = [0.5, -1, 0.25, 2, 1, -0.5];
const scale = [3, -2];
const [seedA, seedB] = [[1, 2, -1, 0.5, 4, 1], 1.5];

/** The gradients by hand, for seeds of both outputs: of `a` it is `seedA + seedB`. */
const ga = seedA.map((seed) => seed + seedB);
const dx = rows.map((v, i) => ga[i] * Math.exp(v) * scale[i % 2]);
const dy = [0, 1].map((k) =>
  rows.reduce((total, v, i) => (i % 2 === k ? total + ga[i] * Math.exp(v) : total), 0),
);

function near(found: readonly (number | bigint)[], expected: readonly number[]): void {
  assert.equal(found.length, expected.length);
  expected.forEach((each, i) => assert.ok(Math.abs(Number(found[i]) - each) < 1e-12, `${found[i]}, not ${each}`)); // prettier-ignore
}

const policies: readonly SavePolicy[] = ['all', 'none', 'auto', 1];

/** What backward may read for nothing: places 0 and 1 are inputs, 2 and 3 results. */
const helds: Readonly<Record<string, (place: number) => boolean>> = {
  everything: () => true,
  'inputs only': (place) => place < 2,
  'one input': (place) => place === 0,
  nothing: () => false,
};

for (const policy of policies) {
  for (const [name, isHeld] of Object.entries(helds)) {
    for (const isApart of [true, false]) {
      test(`both halves give the gradients: ${policy} saved, ${name} held, ${isApart ? 'apart' : 'together'}`, () => {
        const request = differentiated(sample(), [true, true], [true, true]);
        const { forward, backward, saved } = splitJoint(request, policy, isApart, { isHeld });
        verify(forward);
        verify(backward);
        const inputs = [plain([3, 2], rows), plain([2], scale)];
        const outputs = evaluate(forward, inputs);
        near([...outputs[0].data], rows.map((v, i) => Math.exp(v) * scale[i % 2])); // prettier-ignore
        near([...outputs[1].data], [rows.reduce((total, v, i) => total + Math.exp(v) * scale[i % 2], 0)]); // prettier-ignore
        for (const place of saved) assert.ok(place >= 4 || isHeld(place), `${place} is not held`);
        assert.equal(new Set(saved).size, saved.length, 'nothing is read twice');
        const seeds = [plain([3, 2], seedA), plain([], [seedB])];
        const held = [...inputs, ...outputs];
        const grads = evaluate(backward, [...saved.map((place) => held[place]), ...seeds]);
        near([...grads[0].data], dx);
        near([...grads[1].data], dy);
      });
    }
  }
}

test('what is held is not saved, and with nothing saved backward begins from what is held', () => {
  const request = differentiated(sample(), [true, true], [true, true]);
  const results = 2;
  const extra = (policy: SavePolicy): number =>
    splitJoint(request, policy, true).forward.outputs.length - results;
  assert.equal(extra('none'), 0);
  assert.equal(extra('all'), 1, 'exp(x), which is neither an input nor a result');
});

test('calls that may be repeated are, whatever is to be saved', () => {
  const request = differentiated(sample(), [true, true], [true, true]);
  const { forward } = splitJoint(request, 'all', true, { isRepeatable: () => true });
  assert.equal(forward.outputs.length, 2);
});
