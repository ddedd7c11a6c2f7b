import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { c99, type Dialect, gnu, moduleToC } from '../../../src/codegen/c/index.js';
import * as e from '../../../src/loop/language/build.js';
import type { Expr, Kernel } from '../../../src/loop/language/nodes.js';
import { commonFlags } from '../../../src/runtime/native/compiler.js';
import { compileAndRun, compilers } from './compiler.js';

/*
 * Elements of 8 and 16 bits become vectors of 32-bit lanes and back. GCC 12.2 left out all calls of a function that
 * reads words and writes such elements in one loop, where it is called more than once: all elements stayed zero.
 */

const elements = {
  i32: Int32Array,
  i8: Int8Array,
  u8: Uint8Array,
  u16: Uint16Array,
} as const;
const narrow = ['i8', 'u8', 'u16'] as const;
type Narrow = (typeof narrow)[number];

const count = 64;
const calls = 3;
/** Room for one array of words, or of any of these dtypes. */
const bytesEach = 4 * count;

/** Some work on lanes, so that the compiler keeps a vector for it, and the same on numbers. */
const worked = (x: Expr): Expr =>
  e.select(e.gt(x, e.i32(90)), e.sub(e.i32(200), x), e.add(e.mul(x, e.i32(3)), e.i32(7)));
const expected = (x: number): number => (x > 90 ? 200 - x : Math.imul(x, 3) + 7) | 0;

interface Form {
  readonly from: Narrow | 'i32';
  readonly to: Narrow | 'i32';
  readonly lanes: number;
}

function kernelFor({ from: given, to: made, lanes }: Form): Kernel {
  const [from, to] = [e.buffer('from', given), e.buffer('to', made)];
  const body = e.forLoop(
    'i',
    0,
    count,
    (i) => {
      const at = lanes === 1 ? i : e.ramp(i, 1, lanes);
      return e.store(to, at, worked(e.load(from, at)));
    },
    { step: lanes },
  );
  return e.kernel(`${given}_${made}_${lanes}`, [from, to], body);
}

const tried = narrow.flatMap((storage) =>
  [1, 2, 4, 8, 16].flatMap((lanes) => {
    const forms: readonly Form[] = [
      { from: storage, to: storage, lanes },
      { from: 'i32', to: storage, lanes },
      { from: storage, to: 'i32', lanes },
    ];
    return forms.map((form) => ({ ...form, kernel: kernelFor(form) }));
  }),
);

/** Each kernel works on every operand in a call of its own; where they lie is known when the program runs. */
function sourceIn(dialect: Dialect): string {
  const module = e.moduleOf(tried.map(({ kernel }) => kernel));
  const { source: functions, nameOf } = moduleToC(module, dialect);
  const runs = tried.map(({ kernel }) => {
    const each = Array.from({ length: calls }, (_, k) => `${nameOf(kernel)}(memory, from[${k}], to[${k}]);`); // prettier-ignore
    return `${each.join(' ')} fwrite(memory + to[0], 1, ${calls * bytesEach}, stdout);`;
  });
  return `#include <stdio.h>
${functions}
static uint8_t memory[${2 * calls * bytesEach}];
int main(int argc, char **argv) {
  int from[${calls}], to[${calls}];
  for (int k = 0; k < ${calls}; k++) {
    from[k] = k * argc * ${bytesEach};
    to[k] = (${calls} + k) * argc * ${bytesEach};
  }
  if (fread(memory, 1, ${calls * bytesEach}, stdin) != ${calls * bytesEach}) return 1;
${runs.join('\n')}
  return 0;
}
`;
}

/** As native code is compiled for the processors that there are, and as exported C is by whoever has it. */
const ways: readonly { readonly dialect: Dialect; readonly flags: readonly string[] }[] = [
  ...['native', ...(process.arch === 'x64' ? ['x86-64-v3', 'x86-64'] : [])].map((processor) => ({
    dialect: gnu,
    flags: [...commonFlags.filter((flag) => flag !== '-shared'), `-march=${processor}`],
  })),
  ...['-O1', '-O2', '-O3'].map((level) => ({ dialect: c99, flags: ['-std=c99', level] })),
];

describe('narrow elements as vectors in C', () => {
  for (const compiler of compilers) {
    for (const { dialect, flags } of ways) {
      const last = flags.at(-1)!;
      it(`${compiler}, ${dialect.name} with ${last}: each call stores what it has computed`, () => {
        const input = Uint8Array.from({ length: calls * bytesEach }, (_, i) => (i * 37) % 251);
        const output = new Uint8Array(compileAndRun(compiler, sourceIn(dialect), flags, input));
        assert.equal(output.length, tried.length * calls * bytesEach);
        for (const [at, { from, to, kernel }] of tried.entries()) {
          for (let k = 0; k < calls; k++) {
            const start = (at * calls + k) * bytesEach;
            const given = new elements[from](input.buffer, k * bytesEach, count);
            const found = new elements[to](output.buffer, start, count);
            const wanted = new elements[to](Array.from(given, expected));
            assert.deepEqual([...found], [...wanted], `${kernel.name}, call ${k}`);
          }
        }
      });
    }
  }
});
