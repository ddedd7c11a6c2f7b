import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  encodeModule,
  instantiate,
  reservedBytes,
  supportsRelaxed,
} from '../../../src/codegen/wasm/index.js';
import * as e from '../../../src/loop/build.js';
import type { Expr, Module } from '../../../src/loop/nodes.js';

function moduleFor(scalar: 'f32' | 'f64', f: (a: Expr, b: Expr, c: Expr) => Expr): Module {
  const lanes = scalar === 'f32' ? 4 : 2;
  const data = e.buffer('data', scalar);
  const at = (k: number): Expr => e.ramp(k * lanes, 1, lanes);
  const value = f(e.load(data, at(0)), e.load(data, at(1)), e.load(data, at(2)));
  return e.moduleOf([e.kernel('main', [data], e.store(data, at(3), value))]);
}

const forms: readonly ((a: Expr, b: Expr, c: Expr) => Expr)[] = [
  (a, b, c) => e.add(e.mul(a, b), c),
  (a, b, c) => e.add(c, e.mul(a, b)),
  (a, b, c) => e.sub(c, e.mul(a, b)),
];

/** The bytes of the fused instructions: prefix 0xfd, then 0x105 to 0x108 in LEB128. */
function fusedCount(bytes: Uint8Array): number {
  return bytes.filter(
    (byte, at) =>
      byte === 0xfd && bytes[at + 1] >= 0x85 && bytes[at + 1] <= 0x88 && bytes[at + 2] === 2,
  ).length;
}

test('products and sums fuse only on request', () => {
  for (const scalar of ['f32', 'f64'] as const)
    for (const form of forms) {
      assert.equal(fusedCount(encodeModule(moduleFor(scalar, form))), 0);
      assert.equal(fusedCount(encodeModule(moduleFor(scalar, form), { relaxed: true })), 1);
    }
});

test('support is what the engine says, and fused results round once or twice', () => {
  const probe = encodeModule(moduleFor('f32', forms[0]), { relaxed: true });
  assert.equal(supportsRelaxed(), WebAssembly.validate(probe));
  for (const scalar of ['f32', 'f64'] as const)
    for (const form of forms) {
      const memory = new WebAssembly.Memory({ initial: 1 });
      const lanes = scalar === 'f32' ? 4 : 2;
      const home = scalar === 'f32' ? Float32Array : Float64Array;
      const data = new home(memory.buffer, reservedBytes, 4 * lanes);
      data.forEach((_, at) => (data[at] = 1 / (at + 3)));
      const options = { relaxed: supportsRelaxed() };
      instantiate(moduleFor(scalar, form), memory, options).main(reservedBytes);
      for (let lane = 0; lane < lanes; lane++) {
        const [a, b, c, got] = [0, 1, 2, 3].map((part) => data[part * lanes + lane]);
        const exact = form === forms[2] ? c - a * b : c + a * b;
        assert.ok(Math.abs(got - exact) <= (scalar === 'f32' ? 1e-7 : 1e-16), `${got} ${exact}`);
      }
    }
});
