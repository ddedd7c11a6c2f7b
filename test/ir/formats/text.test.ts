import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addDim, symbol } from '../../../src/base/dim/index.js';
import { dtypes, viewOf, bytesOf } from '../../../src/base/dtype.js';
import { FormatError, GraphError, KaonError } from '../../../src/base/errors.js';
import { programFromJSON, programToJSON } from '../../../src/ir/formats/json.js';
import { parseProgram } from '../../../src/ir/formats/parse.js';
import { type CallNode, Program, type Value } from '../../../src/ir/program.js';
import { printProgram } from '../../../src/ir/formats/text.js';
import { verify } from '../../../src/ir/verify.js';
import { add, mul } from '../../../src/ops/elementwise/arithmetic.js';
import { fill } from '../../../src/ops/movement/fill.js';
import { reshape } from '../../../src/ops/movement/reshape.js';
import { broadcastTo, sum } from '../../../src/ops/reduction/sum.js';
import { call } from '../../../src/ops/structure/call.js';
import { backwardProgram } from '../../../src/passes/gradient/gradient.js';

const known = new Map(
  [add, mul, sum, broadcastTo, reshape, fill, call].map((f) => [f.declaration.name, f.declaration]),
);
const lookup = (name: string) => known.get(name);

const written = `program {
  dim 1 <= n <= 512
  input x: float32[n, 3]
  %0 = constant float32[3] [1, -0, NaN]
  %1 = mul(x, %0): float32[n, 3]  // model.ts:3:11
  %2 = call(%1) {saved: [], flows: [], wrt: [], gives: []} [@0 {
    input "the row": float32[m, 3]
    %0 = sum("the row") {axes: [-1], keepdims: true}: float32[m, 1]
    output y = %0
  }]: float32[n, 1]
  %3 = call(%2) {saved: [], flows: [], wrt: [], gives: []} [@1 {
    input y: float32[k, 1]
    %0 = call(y) {saved: [], flows: [], wrt: [], gives: []} [@2 {
      input z: float32[j, 1]
      output z = z
    }]: float32[k, 1]
    output y = %0
  }]: float32[n, 1]
  %4 = call(%3) {saved: [], flows: [], wrt: [], gives: []} [@1]: float32[n, 1]
  output y = %4
  output x = x
}
`;

test('text reads back to the same text, shared regions to one program', () => {
  const program = parseProgram(written, lookup);
  assert.equal(printProgram(program), written);
  const regions = [...program.graph.nodes()].flatMap((id) => {
    const node = program.node(id);
    return node.kind === 'call' ? node.regions : [];
  });
  assert.equal(regions.length, 3);
  assert.equal(regions[1], regions[2]);
  const json = JSON.stringify(programToJSON(program));
  const again = programFromJSON(JSON.parse(json), lookup);
  assert.equal(printProgram(again), written);
  assert.equal(JSON.stringify(programToJSON(again)), json);
});

/** Every part of two programs, compared without going through text. */
function same(a: Program, b: Program): void {
  assert.equal(a.graph.nodeCount, b.graph.nodeCount);
  for (const id of a.graph.nodes()) {
    const [p, q] = [a.node(id), b.node(id)];
    const places = (program: Program) => program.operands(id).map(({ node, port }) => [node, port]);
    assert.deepEqual(places(a), places(b));
    if (p.kind === 'constant' && q.kind === 'constant') {
      assert.deepEqual(p.data.type, q.data.type);
      const bytes = ({ buffer, byteOffset, byteLength }: ArrayBufferView) =>
        Buffer.from(buffer, byteOffset, byteLength).toString('hex');
      assert.equal(bytes(p.data.data), bytes(q.data.data));
    } else if (p.kind === 'call' && q.kind === 'call') {
      const { regions: left, ...rest } = p;
      const { regions: right, ...other } = q;
      assert.deepEqual(rest as Partial<CallNode>, other as Partial<CallNode>);
      left.forEach((region, k) => same(region, right[k]));
    } else assert.deepEqual(p, q);
  }
  const outputs = ({ outputs }: Program) =>
    outputs.map(({ name, value }) => [name, value.node, value.port]);
  assert.deepEqual(outputs(a), outputs(b));
}

function roundTrip(program: Program): void {
  verify(program);
  same(program, parseProgram(printProgram(program), lookup));
  same(program, programFromJSON(JSON.parse(JSON.stringify(programToJSON(program))), lookup));
}

test('constants keep every bit, few elements and many, of each dtype', () => {
  for (const dtype of dtypes) {
    for (const count of [0, 1, 3, 40]) {
      const program = new Program();
      const bytes = new Uint8Array(count * bytesOf(dtype));
      // Any bits are elements, signalling NaNs included; bool is 0 or 1.
      bytes.forEach((_, i) => (bytes[i] = dtype === 'bool' ? i % 2 : (i * 151 + 64) & 255));
      const data = viewOf(dtype, bytes.buffer, 0, count);
      program.setOutputs([
        { name: 'c', value: program.constant({ type: { dtype, shape: [count] }, data }) },
      ]);
      roundTrip(program);
    }
  }
});

test('extremes of int64 and float64 are written exactly', () => {
  const program = new Program();
  const big = new BigInt64Array([-(2n ** 63n), 2n ** 63n - 1n, 0n]);
  const fine = new Float64Array([5e-324, -1.7976931348623157e308, 0.1, -0, NaN, -Infinity, 1e21]);
  program.constant({ type: { dtype: 'int64', shape: [3] }, data: big });
  program.constant({ type: { dtype: 'float64', shape: [7] }, data: fine });
  roundTrip(program);
  const text = printProgram(program);
  assert.ok(text.includes('[-9223372036854775808, 9223372036854775807, 0]'));
  assert.ok(text.includes('[5e-324, -1.7976931348623157e+308, 0.1, -0, NaN, -Infinity, 1e+21]'));
});

test('symbols keep their ranges, in types and in attributes', () => {
  const program = new Program();
  const n = symbol('n', { min: 1, max: 64 });
  const m = symbol('m', { min: 2 });
  const x = program.variable('x', { dtype: 'float32', shape: [n, 1] });
  program.variable('y', { dtype: 'float32', shape: [m, addDim(n, m)] });
  const wide = broadcastTo<Value>(x, [n, m]);
  program.setOutputs([{ name: 'wide', value: wide }]);
  roundTrip(program);
});

test('awkward names and variables between nodes survive', () => {
  const program = new Program();
  const names = ['a b', '"', '%0', 'input', '_', 'é\n', '__proto__', 'constant', ''];
  let total = program.variable('first', { dtype: 'float32', shape: [] });
  for (const name of names) {
    const value = program.variable(name, { dtype: 'float32', shape: [] });
    total = program.withSource(`a file.ts:${names.indexOf(name)}:1`, () =>
      add<Value>(total, value),
    );
  }
  program.setOutputs(names.map((name) => ({ name, value: total })));
  roundTrip(program);
});

test('gradients round trip, of gradients too', () => {
  const program = new Program();
  const n = symbol('n');
  const x = program.variable('x', { dtype: 'float32', shape: [n, 3] });
  program.setOutputs([{ name: 'y', value: sum<Value>(mul<Value>(x, x)) }]);
  const backward = backwardProgram(program, [true]);
  roundTrip(backward);
  roundTrip(backwardProgram(backward, [true, true]));
});

test('every truncation and many damages of text are typed errors', () => {
  for (let end = 0; end < written.length - 1; end++) {
    assert.throws(() => parseProgram(written.slice(0, end), lookup), KaonError);
  }
  const damages: [RegExp | string, string, RegExp][] = [
    ['mul(', 'nothing(', /no operator "nothing"/],
    ['float32[n, 3]  //', 'float32[n, 4]  //', /operator infers/],
    ['(x, %0)', '(x, %9)', /a value that is known/],
    ['keepdims: true', 'keepdims: 3', /attributes of sum/],
    ['keepdims: true', 'keepdims: true, more: 1', /there is no attribute more/],
    ['[1, -0, NaN]', '[1, -0]', /another number of elements/],
    ['[1, -0, NaN]', '[1, -0, two]', /not an element of float32/],
    ['dim 1 <= n', 'dim 999 <= n', /a range of sizes/],
    ['output x = x', 'output y = x', /two outputs named y/],
    ['[@1]', '[@7]', /the program of the region/],
    ['float32[n, 3]', 'float31[n, 3]', /a dtype/],
    ['sum("the row") {axes: [-1]', 'sum("the row") {axes: [5]', /axis 5 does not exist/],
    ['sum("the row")', 'sum()', /not a proper call/],
  ];
  for (const [from, to, message] of damages) {
    assert.throws(
      () => parseProgram(written.replace(from, to), lookup),
      (error) =>
        (error instanceof FormatError || error instanceof GraphError) &&
        message.test(error.message),
      `${String(from)} -> ${to}`,
    );
  }
});

test('deep nesting in text is refused, not a crash', () => {
  const deep = 'max('.repeat(100_000);
  const texts = [
    `program { input x: float32[${deep}] }`,
    `program { input x: float32[${'-'.repeat(100_000)}1] }`,
    `program { input x: float32[1] %0 = sum(x) {axes: ${'['.repeat(100_000)}`,
    `program { input x: float32[1] ${'%0 = call(x) [@0 {'.repeat(100_000)}`,
  ];
  for (const text of texts) assert.throws(() => parseProgram(text, lookup), KaonError);
});
