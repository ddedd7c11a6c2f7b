import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeModule, instantiateModule, reservedBytes } from '../../../src/codegen/wasm/index.js';
import { InternalError } from '../../../src/base/errors.js';
import * as e from '../../../src/loop/language/build.js';
import type { Expr, Stmt, Var } from '../../../src/loop/language/nodes.js';
import { agree, type Filled } from './harness.js';

const out = e.buffer('out', 'i32');
const zeros = (): Filled => ({ buffer: out, elements: new Int32Array(64) });
const append = (at: Expr, value: Expr): Stmt => e.store(out, at, value);

test('loops of every length, with steps and bounds from memory', () => {
  for (const [begin, end, step] of [
    [0, 0, 1],
    [0, 1, 1],
    [3, 10, 3],
    [5, 2, 1],
    [-4, 4, 2],
    [0, 9, 4],
  ]) {
    const body = (i: Expr): Stmt => append(e.add(i, 8), e.add(e.load(out, e.add(i, 8)), 1));
    agree(e.forLoop('i', begin, end, body, { step }), [zeros()]);
    const bounds: Filled = {
      buffer: e.buffer('bounds', 'i32'),
      elements: Int32Array.from([begin, end]),
    };
    const [from, to] = [e.load(bounds.buffer, 0), e.load(bounds.buffer, 1)];
    agree(e.forLoop('i', from, to, body, { step }), [zeros(), bounds]);
  }
});

test('the end of a loop is evaluated once', () => {
  const end = e.variable('end', 'i32');
  const body = e.block(
    e.declare(end, e.i32(4)),
    e.forLoop('i', 0, end, (i) => e.block(e.assign(end, e.i32(2)), append(i, end))),
    e.forLoop('i', 0, e.load(out, 40), (i) => append(e.add(i, 40), e.i32(9))),
  );
  const start = zeros();
  start.elements[40] = 3;
  agree(body, [start]);
});

test('while, if, else and nested scopes', () => {
  const n = e.variable('n', 'i32');
  const steps = e.variable('steps', 'i32');
  const collatz = e.block(
    e.declare(n, e.i32(27)),
    e.declare(steps, e.i32(0)),
    e.whileLoop(
      e.ne(n, 1),
      e.block(
        e.ifThen(
          e.eq(e.and(n, 1), 0),
          e.assign(n, e.div(n, 2)),
          e.assign(n, e.add(e.mul(n, 3), 1)),
        ),
        e.ifThen(e.gt(n, 9000), append(e.i32(1), n)),
        e.assign(steps, e.add(steps, 1)),
      ),
    ),
    append(e.i32(0), steps),
  );
  agree(collatz, [zeros()]);
  agree(e.whileLoop(e.constant('bool', 0), append(e.i32(0), e.i32(1))), [zeros()]);
});

test('locals of every type and lane count, in scopes that end', () => {
  const types = [
    ['f32', 1], ['f32', 2], ['f32', 4], ['f64', 1], ['f64', 2], ['i32', 1], ['i32', 4],
    ['i64', 1], ['i64', 2], ['bool', 1], ['bool', 2], ['bool', 4],
  ] as const; // prettier-ignore
  const statements = types.map(([scalar, lanes], k) => {
    const sum = e.variable('sum', scalar, lanes);
    const one = e.constant(scalar, 1, lanes);
    const next = scalar === 'bool' ? e.not(sum) : e.add(sum, one);
    return e.block(
      e.declare(sum, one),
      e.forLoop('i', 0, 3, () => {
        const inner = e.variable('inner', scalar, lanes);
        return e.block(e.declare(inner, next), e.assign(sum, inner));
      }),
      ...Array.from({ length: lanes }, (_, lane) =>
        append(e.i32(4 * k + lane), e.cast('i32', e.extract(sum, lane))),
      ),
    );
  });
  agree(e.block(...statements), [zeros()]);
});

test('kernels call kernels with values and addresses', () => {
  const [x, wide, flags] = [e.variable('x', 'f32'), e.variable('wide', 'f64', 2), e.variable('flags', 'bool', 2)]; // prettier-ignore
  const [big, flag] = [e.variable('big', 'i64'), e.variable('flag', 'bool')];
  const target = e.buffer('target', 'i32');
  const callee = e.kernel(
    'callee',
    [target, x, wide, flags, big, flag],
    e.block(
      e.store(target, 0, e.cast('i32', x)),
      e.store(target, e.ramp(1, 1, 2), e.cast('i32', e.select(flags, wide, e.neg(wide)))),
      e.store(target, 3, e.cast('i32', big)),
      e.store(target, 4, e.cast('i32', flag)),
    ),
  );
  const middle = e.kernel(
    'middle',
    [target],
    e.call(callee, [
      e.variable('address', 'i32'),
      e.constant('f32', 3.7),
      e.constant('f64', 9, 2),
      e.lt(e.ramp(0, 1, 2), 1),
      e.constant('i64', -5n),
      e.constant('bool', 1),
    ]),
  );
  assert.throws(() => encodeModule(e.moduleOf([callee, middle])), InternalError); // not in scope
  const address = e.variable('address', 'i32');
  const main = e.kernel(
    'main',
    [address],
    e.call(callee, [
      e.add(address, 8),
      e.constant('f32', 3.7),
      e.constant('f64', 9, 2),
      e.lt(e.ramp(0, 1, 2), 1),
      e.constant('i64', -5n),
      e.constant('bool', 1),
    ]),
  );
  const memory = new WebAssembly.Memory({ initial: 1 });
  instantiateModule(e.moduleOf([callee, main]), memory).main(reservedBytes);
  const written = [...new Int32Array(memory.buffer, reservedBytes, 8)];
  assert.deepEqual(written, [0, 0, 3, 9, -9, -5, 1, 0]);
  assert.throws(() => encodeModule(e.moduleOf([main])), InternalError);
});

test('an expression that is shared at every level is computed once a level', () => {
  const input: Filled = { buffer: e.buffer('input', 'f32'), elements: Float32Array.from([1.5]) };
  const result: Filled = { buffer: e.buffer('result', 'f32'), elements: new Float32Array(4) };
  let x: Expr = e.load(input.buffer, 0);
  for (let level = 0; level < 60; level++) x = e.sub(e.mul(x, x), e.add(x, 0.25));
  const kernel = e.kernel('main', [input.buffer, result.buffer], e.store(result.buffer, 0, x));
  assert.ok(encodeModule(e.moduleOf([kernel])).length < 1500);
  agree(e.store(result.buffer, 0, x), [input, result]);
});

test('shared and unshared memories are imported', () => {
  const shared = new WebAssembly.Memory({ initial: 1, maximum: 4, shared: true });
  const module = e.moduleOf([e.kernel('main', [out], append(e.i32(1), e.i32(7)))]);
  instantiateModule(module, shared, { shared: true }).main(reservedBytes);
  assert.equal(new Int32Array(shared.buffer)[reservedBytes / 4 + 1], 7);
  assert.ok(WebAssembly.validate(encodeModule(e.moduleOf([]))), 'no kernels at all');
});

test('scalar parameters arrive in their types', () => {
  const parameters: readonly Var[] = (['f32', 'f64', 'i32', 'i64', 'bool'] as const).map((scalar) =>
    e.variable(scalar, scalar),
  );
  const target = e.buffer('target', 'f64');
  const body = e.block(...parameters.map((x, at) => e.store(target, at, e.cast('f64', x))));
  const module = e.moduleOf([e.kernel('main', [target, ...parameters], body)]);
  const memory = new WebAssembly.Memory({ initial: 1 });
  instantiateModule(module, memory).main(reservedBytes, 0.5, 0.1, -3, 2n ** 40n, 1);
  const got = [...new Float64Array(memory.buffer, reservedBytes, 5)];
  assert.deepEqual(got, [0.5, 0.1, -3, 2 ** 40, 1]);
});
