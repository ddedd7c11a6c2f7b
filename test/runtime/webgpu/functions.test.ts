import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Program, type Value } from '../../../src/ir/program.js';
import { cbrt, cos, digamma, floorDivide, fmod, lgamma, mod, polygamma, pow, sin, sinc, tan } from '../../../src/ops/index.js'; // prettier-ignore
import { DeviceExecutable } from '../../../src/runtime/device/executable.js';
import { DeviceQueue } from '../../../src/runtime/device/queue.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { setUpWebGpu } from '../../../src/runtime/webgpu/setup.js';
import { ProgramsOnGrid } from '../../support/gpu-programs.js';
import { generator } from '../../support/samples.js';
import { gpuForTests } from '../../support/webgpu.js';

/* Functions of float32 that are computed in integers: a GPU gives the bits of the interpreter, whose errors are measured. */

const gpu = await gpuForTests();
const skip = typeof gpu === 'string' ? gpu : false;
const count = 5000;

/** Random bits of normal numbers, small numbers, multiples of pi / 4 and of halves, and what is not finite. */
function operand(seed: number): Float32Array {
  const random = generator(seed);
  const bits = new Int32Array(count);
  const xs = new Float32Array(bits.buffer);
  for (let k = 0; k < count; k++) {
    if (k % 4 === 0) bits[k] = (2 ** 23 + random() * (2 ** 31 - 2 ** 23)) ^ ((k % 8) << 29);
    else if (k % 4 === 1) xs[k] = (random() - 0.5) * 8;
    else if (k % 4 === 2) xs[k] = ((k >> 2) * Math.PI) / 4;
    else xs[k] = (k >> 2) / 2 - 300;
  }
  xs.set([NaN, Infinity, -Infinity, 0, -0, 1e10, 2 ** 127, 16367173 * 2 ** 72], 8 * (seed - 2));
  return xs;
}

const operands = [operand(2), operand(3)];

const functions: Readonly<Record<string, (x: Value, y: Value) => Value>> = {
  sin: (x) => sin(x),
  cos: (x) => cos(x),
  tan: (x) => tan(x),
  sinc: (x) => sinc(x),
  fmod: (x, y) => fmod(x, y),
  mod: (x, y) => mod(x, y),
  floorDivide: (x, y) => floorDivide(x, y),
  pow: (x, y) => pow(x, y),
  'pow with an exponent': (x) => pow(x, 3.5),
  cbrt: (x) => cbrt(x),
  lgamma: (x) => lgamma(x),
  digamma: (x) => digamma(x),
  'polygamma of order 1': (x) => polygamma(1, x),
  'polygamma of order 2': (x) => polygamma(2, x),
};

/** The bits, with subnormal numbers as zeros. */
function bitsOf(storage: Storage): Uint32Array {
  const { buffer, byteOffset, length } = storage.host as Float32Array<ArrayBuffer>;
  return new Uint32Array(buffer, byteOffset, length).map((bits) =>
    (bits & 0x7f800000) === 0 ? bits & 0x80000000 : bits,
  );
}

if (typeof gpu === 'string') test('functions of floats on a GPU', { skip }, () => {});
else {
  gpu.close();
  const backend = await setUpWebGpu({});
  after(() => backend.close());
  const queue = new DeviceQueue(backend);

  for (const [name, f] of Object.entries(functions)) {
    test(`${name} has the bits on a GPU that it has in the interpreter`, async () => {
      const program = new Program();
      const variables = operands.map((_, k) =>
        program.variable(`x${k}`, { dtype: 'float32', shape: [count] }),
      );
      program.setOutputs([{ name: 'y', value: f(variables[0], variables[1]) }]);
      const given = operands.map((xs) => ({
        storage: new Storage('float32', xs),
        shape: [count],
      }));
      const executable = new DeviceExecutable(program, queue, 'strict');
      const [found] = executable.run(
        given.map(({ storage, shape }) => ({ storage: storage.onBackend(queue), shape })),
      );
      const read = new Storage('float32', await found.storage.read());
      const [expected] = await new ProgramsOnGrid().run(program, given);
      const [bits, wanted] = [bitsOf(read), bitsOf(expected.storage)];
      const different = wanted.findIndex((each, k) => each !== bits[k]);
      const place = operands.map((xs) => xs[different]).join(', ');
      assert.equal(
        different,
        -1,
        `${name}(${place}): ${bits[different]}, not ${wanted[different]}`,
      );
      executable.release();
    });
  }
}
