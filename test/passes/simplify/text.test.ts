import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decompose } from '../../../src/passes/simplify/decompose.js';
import { simplify } from '../../../src/passes/simplify/simplify.js';
import { printProgram } from '../../../src/ir/formats/text.js';
import { caseProgram, operatorLaws } from './cases.js';
import { expressionOf } from './expression.js';
import { parse } from '../../support/program-texts.js';

/*
 * Before and after: what the case of every law says, and what the pass makes of it. Each row can be
 * checked by eye against the law above the rule; that the values agree is what laws.test.ts shows.
 */
/** The error of `stretchTo` and `withSizes` in samples. */
const refusal =
  '{error:shape,op:sample,problem:[the sizes do not fit],expected:[others],actual:[these]}';

const table: ReadonlyMap<string, string> = new Map([
  ['abs(neg(x0))', 'abs(x0)'],
  ['abs(abs(x0))', 'abs(x0)'],
  ['abs(square(x0))', 'square(x0)'],
  ['abs(x0)', 'x0'],
  ['add(x0, -0)', 'x0'],
  ['add(0, x0)', 'x0'],
  ['add(x0, false)', 'x0'],
  ['add(x0, fullLike(x0, -0, null, [2,3]))', 'broadcastTo(x0, [2,3])'],
  ['add(x0, neg(x1))', 'sub(x0, x1)'],
  ['add(neg(x0), x1)', 'sub(x1, x0)'],
  ['add(x0, x0)', 'x0'],
  ['all(x0, [1], false)', 'reshape(x0, [n,3])'],
  ['all(x0, [], false)', 'x0'],
  ['any(x0, [1], false)', 'reshape(x0, [n,3])'],
  ['any(x0, [], false)', 'x0'],
  ['bitwiseAnd(x0, x0)', 'x0'],
  ['bitwiseAnd(x0, 0)', 'fullLike(x0, 0, int8, [n,2])'],
  ['bitwiseNot(bitwiseNot(x0))', 'x0'],
  ['bitwiseOr(x0, x0)', 'x0'],
  ['bitwiseOr(0, x0)', 'x0'],
  ['bitwiseXor(x0, 0)', 'x0'],
  ['bitwiseXor(x0, x0)', 'fullLike(x0, 0, int8, [n,2])'],
  ['broadcastTo(x0, [n,3])', 'x0'],
  ['broadcastTo(broadcastTo(x0, [1,3]), [2,3])', 'broadcastTo(x0, [2,3])'],
  ['floor(trunc(ceil(round(x0))))', 'x0'],
  ['floor(ceil(x0))', 'ceil(x0)'],
  ['trunc(round(x0))', 'round(x0)'],
  ['ceil(round(floor(x0)))', 'floor(x0)'],
  ['clip(x0, false, false)', 'x0'],
  ['concat(x0, 0)', 'x0'],
  ['concat(x0, x1, x0, 0)', 'concat(x0, x0, 0)'],
  ['concat(x0, x1, 1)', 'x1'],
  ['concat(x0, x0, 0)', 'x0'],
  ['dimLike(x0, 3, int64)', 'fill([], 3, int64)'],
  ['div(x0, 1)', 'x0'],
  ['div(x0, -1)', 'neg(x0)'],
  ['div(neg(x0), neg(x1))', 'div(x0, x1)'],
  ['equal(x0, x0)', 'fullLike(x0, 1, bool, [n,3])'],
  ['reshape(x0, [-1,4])', 'x0'],
  ['flatten(x0)', 'x0'],
  ['squeeze(x0, null)', 'x0'],
  ['exchangeBins(x0, [1,1], zero)', 'reshape(x0, [n,3,4,1,1])'],
  ['exchangeBins(x0, [3,4], zero)', 'reshape(x0, [n,1,1,3,4])'],
  ['exchangeBins(x0, [2,5], zero)', 'x0'],
  ['expandDims(x0, [])', 'x0'],
  ['reshape(reshape(x0, [-1,2,2]), [4,-1])', 'reshape(x0, [4,n])'],
  ['squeeze(expandDims(x0, [1]), [1])', 'x0'],
  ['expandDims(flatten(x0), [0])', 'reshape(x0, [1,4*n])'],
  ['flatten(reshape(x0, [-1,3]))', 'reshape(x0, [3*n])'],
  [
    'reshape(slice(x0, [[null,null,1],[4,8,1]]), [-1,2,2])',
    'slice(reshape(x0, [n,6,2]), [[0,null,1],[2,4,1],[0,null,1]])',
  ],
  [
    'reshape(slice(x0, [...,[8,null,1]]), [-1,1,4])',
    'slice(reshape(x0, [n,3,4]), [[0,null,1],[2,3,1],[0,null,1]])',
  ],
  [
    'reshape(slice(x0, [[null,null,1],[null,null,1],[3,6,1]]), [-1,3,3,1])',
    'slice(reshape(x0, [2*n,6,3,1]), [[0,null,1],[3,6,1],[0,null,1],[0,null,1]])',
  ],
  [
    'reshape(slice(x0, [[2,6,1]]), [2,2,-1])',
    'slice(reshape(x0, [3,2,n]), [[1,3,1],[0,null,1],[0,null,1]])',
  ],
  ['flip(x0, [1])', 'x0'],
  ['flip(x0, [])', 'x0'],
  ['flip(flip(x0, null), null)', 'x0'],
  ['flip(flip(x0, [0,1]), [1,-1])', 'flip(x0, [0,2])'],
  ['fmax(x0, x0)', 'x0'],
  ['fmax(fmax(x0, x1), x1)', 'fmax(x0, x1)'],
  ['fmax(x0, fmax(x0, x1))', 'fmax(x0, x1)'],
  ['fmin(x0, x0)', 'x0'],
  ['fmin(fmin(x0, x1), x1)', 'fmin(x0, x1)'],
  ['fmin(x0, fmin(x0, x1))', 'fmin(x0, x1)'],
  ['fullLike(x0, 7, null, null)', 'fill([2,3], 7, float32)'],
  ['fullLike(x0, 1, int64, [4])', 'fill([4], 1, int64)'],
  ['greater(x0, x0)', 'fullLike(x0, 0, bool, [n,3])'],
  ['greaterEqual(x0, x0)', 'fullLike(x0, 1, bool, [n,3])'],
  ['identity(x0)', 'x0'],
  ['leftShift(x0, 0)', 'x0'],
  ['less(x0, x0)', 'fullLike(x0, 0, bool, [n,3])'],
  ['lessEqual(x0, x0)', 'fullLike(x0, 1, bool, [n,3])'],
  ['logicalAnd(x0, x0)', 'x0'],
  ['logicalAnd(x0, true)', 'x0'],
  ['logicalAnd(false, x0)', 'fullLike(x0, 0, bool, [n,2])'],
  ['logicalNot(logicalNot(x0))', 'x0'],
  ['logicalNot(equal(x0, x1))', 'notEqual(x0, x1)'],
  ['logicalNot(notEqual(x0, x1))', 'equal(x0, x1)'],
  ['logicalNot(less(x0, x1))', 'greaterEqual(x0, x1)'],
  ['logicalNot(greaterEqual(x0, x1))', 'less(x0, x1)'],
  ['logicalNot(greater(x0, x1))', 'lessEqual(x0, x1)'],
  ['logicalNot(lessEqual(x0, x1))', 'greater(x0, x1)'],
  ['logicalOr(x0, x0)', 'x0'],
  ['logicalOr(x0, false)', 'x0'],
  ['logicalOr(true, x0)', 'fullLike(x0, 1, bool, [n,2])'],
  ['logicalXor(x0, false)', 'x0'],
  ['logicalXor(x0, x0)', 'fullLike(x0, 0, bool, [n,2])'],
  ['logicalXor(x0, true)', 'logicalNot(x0)'],
  ['max(x0, [1], false)', 'reshape(x0, [n,3])'],
  ['max(x0, [], false)', 'x0'],
  ['max(broadcastTo(x0, [4,3]), [0], false)', 'x0'],
  ['max(broadcastTo(x0, [2,5]), [1], false)', 'reshape(x0, [2])'],
  ['maximum(x0, x0)', 'x0'],
  ['maximum(maximum(x0, x1), x1)', 'maximum(x0, x1)'],
  ['maximum(x0, maximum(x0, x1))', 'maximum(x0, x1)'],
  ['maximum(x0, -Infinity)', 'x0'],
  ['min(x0, [1], false)', 'reshape(x0, [n,3])'],
  ['min(x0, [], false)', 'x0'],
  ['min(broadcastTo(x0, [4,3]), [0], false)', 'x0'],
  ['min(broadcastTo(x0, [2,5]), [1], false)', 'reshape(x0, [2])'],
  ['minimum(x0, x0)', 'x0'],
  ['minimum(minimum(x0, x1), x1)', 'minimum(x0, x1)'],
  ['minimum(x0, minimum(x0, x1))', 'minimum(x0, x1)'],
  ['minimum(x0, Infinity)', 'x0'],
  ['transpose(transpose(x0, [1,2,0]), [0,2,1])', 'transpose(x0, [1,0,2])'],
  ['swapaxes(moveaxis(x0, [0], [-1]), 0, 1)', 'transpose(x0, [2,1,0])'],
  ['moveaxis(swapaxes(x0, 0, 1), [2], [0])', 'transpose(x0, [2,1,0])'],
  ['transpose(x0, [0,1,2])', 'x0'],
  ['transpose(x0, [2,1,3,0])', 'reshape(x0, [1,n,3,1])'],
  ['swapaxes(x0, 0, 1)', 'reshape(x0, [1,n])'],
  ['moveaxis(x0, [1], [0])', 'reshape(x0, [1,n,m])'],
  ['mul(x0, 1)', 'x0'],
  ['mul(fullLike(x0, 1, null, null), x0)', 'x0'],
  ['mul(x0, true)', 'x0'],
  ['mul(x0, -1)', 'neg(x0)'],
  ['mul(x0, 0)', 'fullLike(x0, 0, int8, [n,3])'],
  ['mul(x0, false)', 'fullLike(x0, 0, bool, [n,3])'],
  ['mul(neg(x0), neg(x1))', 'mul(x0, x1)'],
  ['mul(x0, x0)', 'x0'],
  ['nanToNum(x0, 0, null, null)', 'x0'],
  ['neg(neg(x0))', 'x0'],
  ['neg(sub(x0, x1))', 'sub(x1, x0)'],
  ['notEqual(x0, x0)', 'fullLike(x0, 0, bool, [n,3])'],
  ['pad(x0, [[0,0]], constant, 0)', 'x0'],
  ['pad(x0, [[0,0],[0,0]], reflect, 0)', 'x0'],
  ['positive(x0)', 'x0'],
  ['pow(x0, 0)', 'fullLike(x0, 1, float32, [n,3])'],
  ['pow(x0, 1)', 'x0'],
  ['pow(x0, 2)', 'square(x0)'],
  ['pow(x0, -1)', 'reciprocal(x0)'],
  ['prod(x0, [1], false)', 'reshape(x0, [n,3])'],
  ['prod(x0, [], false)', 'x0'],
  ['rightShift(x0, 0)', 'x0'],
  ['roll(x0, [0], null)', 'x0'],
  ['roll(x0, [0,0], [0,1])', 'x0'],
  ['shapeOf(x0)', '[2, 0, 3]'],
  ['shift(x0, 0, -1)', 'x0'],
  ['sign(sign(x0))', 'sign(x0)'],
  ['slice(x0, [[null,null,1],[0,4,1]])', 'x0'],
  ['slice(x0, [null,[0,null,1],...])', 'reshape(x0, [1,n,4])'],
  ['slice(x0, [[null,null,1],0])', 'reshape(x0, [n])'],
  ['slice(x0, [[null,null,-1]])', 'x0'],
  ['slice(slice(x0, [[2,8,2]]), [[1,null,1]])', 'slice(x0, [[4,8,2],[0,4,1]])'],
  [
    'slice(slice(x0, [[null,null,-2]]), [[null,null,-1],2])',
    'reshape(slice(x0, [[0,10,2],[2,3,1]]), [5])',
  ],
  ['slice(slice(x0, [[1,null,3],null]), [2,...,[1,3,1]])', 'slice(x0, [[7,10,3],[1,3,1]])'],
  [
    'slice(slice(x0, [[null,null,1],[1,null,1]]), [[null,null,1],0])',
    'reshape(slice(x0, [[0,n,1],[1,2,1]]), [n])',
  ],
  ['square(neg(x0))', 'square(x0)'],
  ['square(x0)', 'x0'],
  ['stopGradient(x0)', 'x0'],
  ['sub(x0, 0)', 'x0'],
  ['sub(x0, neg(x1))', 'add(x0, x1)'],
  ['sub(-0, x0)', 'neg(x0)'],
  ['sub(0, x0)', 'neg(x0)'],
  ['sub(x0, x0)', 'fullLike(x0, 0, int8, [n,3])'],
  ['sum(x0, [1], false)', 'cast(reshape(x0, [n,3]), int64)'],
  ['sum(x0, [], false)', 'cast(x0, int64)'],
  [`stretchTo(x0, [n,3], ${refusal})`, 'x0'],
  [`stretchTo(x0, [2,3], ${refusal})`, 'broadcastTo(x0, [2,3])'],
  [`withSizes(x0, [n,3], ${refusal})`, 'x0'],
  [`withSizes(x0, [2,3], ${refusal})`, 'x0'],
  ['where(x0, x2, x2)', 'broadcastTo(x2, [n,3])'],
  ['where(true, x2, x1)', 'broadcastTo(x2, [n,3])'],
  ['where(false, x2, x1)', 'x1'],
  ['where(x0, true, false)', 'x0'],
  ['where(logicalNot(x0), x1, x2)', 'where(x0, x2, x1)'],
  ['where(x0, where(x0, x1, x2), x3)', 'where(x0, x1, x3)'],
  ['where(x0, x1, where(x0, x2, x3))', 'where(x0, x1, x3)'],
]);

test('every case of every law turns into what the table says', () => {
  const seen = new Set<string>();
  for (const { op, law, instances } of operatorLaws()) {
    for (const instance of instances) {
      const program = decompose(caseProgram(instance));
      const before = expressionOf(program);
      if (seen.has(before) || op === 'cast') continue;
      seen.add(before);
      const expected = table.get(before);
      assert.ok(expected !== undefined, `${op}, ${law.law}: no row for ${before}`);
      assert.equal(expressionOf(simplify(program)), expected, `${op}, ${law.law}: ${before}`);
    }
  }
  assert.deepEqual(
    [...table.keys()].filter((before) => !seen.has(before)),
    [],
    'rows that no case stands for',
  );
});

test('chains of conversions become one, or none', () => {
  const laws = operatorLaws().filter(({ op }) => op === 'cast');
  assert.equal(laws.length, 2);
  for (const { instances } of laws) {
    for (const instance of instances) {
      const program = decompose(caseProgram(instance));
      const own = program.inputs[0].type.dtype;
      const last = program.outputs[0].value.type.dtype;
      const expected = last === own ? 'x0' : `cast(x0, ${last})`;
      assert.equal(expressionOf(simplify(program)), expected, expressionOf(program));
    }
  }
});

test('laws feed each other within one walk, keep sources, and reach into regions', () => {
  const simplified = simplify(
    parse(`program {
      input x: float32[n, 3]
      %0 = call(x) {saved: [], flows: [], wrt: [], gives: []} [@0 {
        input a: float32[m, 3]
        %0 = constant float32[] [-1]
        %1 = mul(a, %0): float32[m, 3]  // a.ts:1:1
        %2 = stopGradient(%1): float32[m, 3]  // a.ts:2:1
        %3 = sub(a, %2): float32[m, 3]  // a.ts:3:1
        %4 = transpose(%3) {axes: null}: float32[3, m]  // a.ts:4:1
        %5 = swapaxes(%4) {axis1: 0, axis2: 1}: float32[m, 3]  // a.ts:5:1
        output b = %5
      }]: float32[n, 3]  // b.ts:1:1
      output y = %0
    }`),
  );
  assert.equal(
    printProgram(simplified),
    printProgram(
      parse(`program {
        input x: float32[n, 3]
        %0 = call(x) {saved: [], flows: [], wrt: [], gives: []} [@0 {
          input a: float32[m, 3]
          %0 = add(a, a): float32[m, 3]  // a.ts:3:1
          output b = %0
        }]: float32[n, 3]  // b.ts:1:1
        output y = %0
      }`),
    ),
  );
});

test('what looks like a law of real numbers but is none of floats stays', () => {
  for (const body of [
    '%0 = constant float32[] [0]\n %1 = add(x, %0): float32[n]', // -0 + 0 is 0
    '%0 = constant float32[] [-0]\n %1 = sub(x, %0): float32[n]', // -0 - -0 is 0
    '%0 = constant float32[] [0]\n %1 = mul(x, %0): float32[n]', // NaN, and the sign
    '%0 = constant float32[] [0]\n %1 = sub(%0, x): float32[n]', // 0 - 0 is 0, not -0
    '%0 = sub(x, x): float32[n]', // NaN
    '%0 = sub(x, y): float32[n]\n %1 = neg(%0): float32[n]', // of equals -0
    '%0 = div(x, x): float32[n]\n %1 = add(%0, y): float32[n]', // 0 / 0
    '%0 = equal(x, x): bool[n]', // NaN
    '%0 = sum(z) {axes: [1], keepdims: false}: float32[n]\n %1 = add(%0, x): float32[n]', // 0 + -0
    '%0 = less(x, y): bool[n]\n %1 = logicalNot(%0): bool[n]', // NaN
  ]) {
    const last = /%(\d+) = [^\n]*$/.exec(body)![1];
    const text = `program {
      input x: float32[n]
      input y: float32[n]
      input z: float32[n, 1]
      ${body}
      output a = %${last}
    }`;
    const program = parse(text);
    assert.equal(simplify(program), program, body);
  }
});
