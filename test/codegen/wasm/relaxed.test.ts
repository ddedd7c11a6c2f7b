import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  encodeModule,
  instantiateModule,
  reservedBytes,
  supportsRelaxed,
} from '../../../src/codegen/wasm/index.js';
import * as e from '../../../src/loop/language/build.js';
import type { Expr, Module, Var } from '../../../src/loop/language/nodes.js';

type Float = 'f32' | 'f64';

/** `c` changes by an assignment from `a`, `b` and itself, and is stored. */
function moduleFor(scalar: Float, f: (a: Expr, b: Expr, c: Var) => Expr, lanes: number): Module {
  const data = e.buffer('data', scalar);
  const at = (k: number): Expr => (lanes === 1 ? e.i32(k) : e.ramp(k * lanes, 1, lanes));
  const c = e.variable('c', scalar, lanes);
  return e.moduleOf([
    e.kernel(
      'main',
      [data],
      e.block(
        e.declare(c, e.load(data, at(2))),
        e.assign(c, f(e.load(data, at(0)), e.load(data, at(1)), c)),
        e.store(data, at(3), c),
      ),
    ),
  ]);
}

const lanesOf = (scalar: Float): number => (scalar === 'f32' ? 4 : 2);

const accumulations: readonly ((a: Expr, b: Expr, c: Var) => Expr)[] = [
  (a, b, c) => e.add(c, e.mul(a, b)),
  (a, b, c) => e.add(e.mul(a, b), c),
];

const others: readonly ((a: Expr, b: Expr, c: Var) => Expr)[] = [
  (a, b, c) => e.sub(c, e.mul(a, b)),
  (a, b) => e.add(a, e.mul(a, b)),
  (a, b, c) => e.mul(c, e.add(a, b)),
  (a, b, c) => e.add(e.mul(c, b), a),
  (a, b, c) => e.add(e.add(c, e.mul(a, b)), a),
];

/** The bytes of the fused instructions: prefix 0xfd, then 0x105 to 0x108 in LEB128. */
function fusedCount(bytes: Uint8Array): number {
  return bytes.filter(
    (byte, at) =>
      byte === 0xfd && bytes[at + 1] >= 0x85 && bytes[at + 1] <= 0x88 && bytes[at + 2] === 2,
  ).length;
}

test('accumulations of vectors fuse, on request only', () => {
  for (const scalar of ['f32', 'f64'] as const)
    for (const form of accumulations) {
      const module = moduleFor(scalar, form, lanesOf(scalar));
      assert.equal(fusedCount(encodeModule(module)), 0);
      assert.equal(fusedCount(encodeModule(module, { relaxed: true })), 1);
    }
});

test('nothing else fuses', () => {
  for (const scalar of ['f32', 'f64'] as const) {
    for (const form of others) {
      const module = moduleFor(scalar, form, lanesOf(scalar));
      assert.equal(fusedCount(encodeModule(module, { relaxed: true })), 0);
    }
    const single = moduleFor(scalar, accumulations[0], 1);
    assert.equal(fusedCount(encodeModule(single, { relaxed: true })), 0, 'a scalar has none');
  }
});

test('support is what the engine says, and fused results round once or twice', () => {
  const probe = encodeModule(moduleFor('f32', accumulations[0], 4), { relaxed: true });
  assert.equal(supportsRelaxed(), WebAssembly.validate(probe));
  for (const scalar of ['f32', 'f64'] as const)
    for (const form of accumulations) {
      const memory = new WebAssembly.Memory({ initial: 1 });
      const lanes = lanesOf(scalar);
      const home = scalar === 'f32' ? Float32Array : Float64Array;
      const data = new home(memory.buffer, reservedBytes, 4 * lanes);
      data.forEach((_, at) => (data[at] = 1 / (at + 3)));
      const options = { relaxed: supportsRelaxed() };
      instantiateModule(moduleFor(scalar, form, lanes), memory, options).main(reservedBytes);
      for (let lane = 0; lane < lanes; lane++) {
        const [a, b, c, got] = [0, 1, 2, 3].map((part) => data[part * lanes + lane]);
        const exact = c + a * b;
        assert.ok(Math.abs(got - exact) <= (scalar === 'f32' ? 1e-7 : 1e-16), `${got} ${exact}`);
      }
    }
});
