import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { interpret } from '../../../src/loop/interpret/interpret.js';
import { liftConstants } from '../../../src/loop/optimize/lift.js';
import { optimizeModule } from '../../../src/loop/optimize/module.js';
import type { For, Module } from '../../../src/loop/language/nodes.js';
import { parseModule } from '../../../src/loop/language/parse.js';
import { moduleText } from '../../../src/loop/language/text.js';
import { verifyModule } from '../../../src/loop/language/verify.js';
import { visitStmts } from '../../../src/loop/language/visit.js';
import { dedent } from '../before-after.js';

function lifted(text: string): Module {
  const module = liftConstants(parseModule(dedent(text)));
  verifyModule(module);
  return module;
}

const twoSizes = `
  kernel small(o: f32[], x: f32[]) {
    for i in 0..2 {
      for j in 0..3 {
        o[i * 3 + j] = x[j * 2 + i] + 1.0
      }
    }
  }

  kernel large(p: f32[], y: f32[]) {
    for i in 0..4 {
      for j in 0..5 {
        p[i * 5 + j] = y[j * 4 + i] + 1.0
      }
    }
  }

  kernel main(table: i32[]) {
    call small(table[0], table[1])
    call large(table[2], table[3])
    call small(table[2], table[1])
  }`;

describe('liftConstants', () => {
  it('makes one kernel of those that differ in sizes, one parameter for each size', () => {
    assert.equal(
      moduleText(lifted(twoSizes)),
      dedent(`
      kernel small(o: f32[], x: f32[], size0: i32, size1: i32) {
        for i in 0..size0 {
          for j in 0..size1 {
            o[i * size1 + j] = x[j * size0 + i] + 1.0
          }
        }
      }

      kernel main(table: i32[]) {
        call small(table[0], table[1], 2, 3)
        call small(table[2], table[3], 4, 5)
        call small(table[2], table[1], 2, 3)
      }`),
    );
  });

  it('computes the same', () => {
    const run = (module: Module): Float32Array => {
      const memory = new ArrayBuffer(256);
      // The table, then 6, 20 and 20 numbers: small reads what it writes last.
      new Int32Array(memory).set([16, 40, 120, 40]);
      const values = new Float32Array(memory, 40, 20);
      values.forEach((_, i) => (values[i] = i * i - 7));
      interpret(module, memory, 'main', [0]);
      return new Float32Array(memory);
    };
    assert.deepEqual(run(lifted(twoSizes)), run(parseModule(dedent(twoSizes))));
  });

  const isLeft = (body: (size: number) => string): void => {
    const kernels = [3, 5].map((n) => `kernel k${n}(o: f32[], x: f32[]) {\n${body(n)}\n}\n`);
    const main = 'kernel main(o: i32, x: i32) {\ncall k3(o, x)\ncall k5(o, x)\n}';
    const module = parseModule([...kernels, main].join('\n'));
    assert.equal(liftConstants(module), module);
  };

  it('leaves vector loops, whose length matters to their code', () => {
    isLeft((size) => `vector for i in 0..${size} {\n o[i] = x[i]\n }`);
    isLeft((size) => `vector for i in 0..${size * 8} {\n o[i] = x[i]\n }`);
    isLeft((size) => `for i in 0..4 { vector for j in 0..${size * 16} {\n o[j] = x[i + j]\n }\n}`);
    isLeft((size) => `unroll for i in 0..${size * 16} {\n o[i] = x[i]\n }`);
  });

  it('takes a lone vector loop whose length fills vectors of every processor', () => {
    const kernel = (name: string, size: number): string => `
      kernel ${name}(o: f32[], x: f32[]) {
        vector for i in 0..${size} {
          o[i] = x[i] + 1.0
        }
      }
`;
    const main = `
      kernel main(o: i32, x: i32) {
        call a(o, x)
        call b(o, x)
        call c(o, x)
      }`;
    const module = lifted(kernel('a', 96) + kernel('b', 64) + kernel('c', 160) + main);
    assert.equal(
      moduleText(module),
      dedent(`
      kernel a(o: f32[], x: f32[], size0: i32) {
        vector for i in 0..size0 * 32 {
          o[i] = x[i] + 1.0
        }
      }

      kernel main(o: i32, x: i32) {
        call a(o, x, 3)
        call a(o, x, 2)
        call a(o, x, 5)
      }`),
    );
    for (const vectorBytes of [16, 32, 64]) {
      const [{ body }] = optimizeModule(module, { vectorBytes }).kernels;
      const loops: For[] = [];
      visitStmts(body, (stmt) => {
        if (stmt.kind === 'for') loops.push(stmt);
      });
      assert.deepEqual(
        loops.map(({ step }) => step),
        [vectorBytes / 4],
        'no loop for a rest',
      );
    }
  });

  it('leaves kernels that would divide by a parameter', () => {
    isLeft((size) => `for i in 0..8 {\n o[i] = x[i / ${size}]\n }`);
  });

  it('leaves what differs in more than sizes', () => {
    isLeft((size) => `for i in 0..8 {\n o[i] = x[i] * ${size}.0\n }`);
  });

  it('leaves a kernel that stands alone', () => {
    const module = parseModule(dedent(twoSizes.replace(/kernel large[^]*?\n  }\n\n/, '').replace(/.*call large.*\n/, ''))); // prettier-ignore
    assert.equal(module.kernels.length, 2);
    assert.equal(liftConstants(module), module);
  });
});
