import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { moduleToC } from '../../../src/codegen/c/index.js';
import type { Program } from '../../../src/ir/program.js';
import { onCpu } from '../../../src/kernels/cpu/index.js';
import { optimizeModule } from '../../../src/loop/optimize/module.js';
import { avx2Target } from '../../../src/loop/language/target.js';
import { add, attention, gelu, matmul, relu, transpose } from '../../../src/ops/index.js';
import { undivided } from '../../../src/ops/nests/cost.js';
import { mainName } from '../../../src/passes/lower/main/main.js';
import { lowerProgram } from '../../../src/passes/lower/main/plan.js';
import { planParts } from '../../../src/runtime/compile/compile.js';
import { commonFlags } from '../../../src/runtime/native/compiler.js';
import { parseMacros } from '../../../src/runtime/native/processor.js';
import { f32 } from '../../golden/case.js';
import { programOf } from '../../support/programs.js';

/*
 * A sum that GCC keeps in memory makes each step of a product wait for a store and a load (decision 44), which
 * no result tells. So this reads what GCC has written, for processors with AVX2, whichever this one is.
 */

const processor = ['-mavx2', '-mfma'];
const target = { ...avx2Target, fusesMultiplyAdd: true };

/** Why there is nothing to read here; false where there is. */
function obstacle(): string | false {
  const { status, stdout } = spawnSync('gcc', [...processor, '-dM', '-E', '-x', 'c', '/dev/null'], {
    encoding: 'utf8',
  });
  if (status !== 0) return 'no gcc that compiles for AVX2';
  return parseMacros(stdout).has('__clang__') ? 'gcc is Clang' : false;
}

/** What GCC makes of the parts of a program, as text. */
function assembly(program: Program): string {
  const folder = mkdtempSync(join(tmpdir(), 'kaon-registers-'));
  const [source, text] = [join(folder, 'program.c'), join(folder, 'program.s')];
  try {
    return planParts(program)
      .map(({ plan }) => {
        const { groups } = plan;
        const lowered = lowerProgram(
          plan.program,
          groups,
          onCpu(target),
          [],
          undivided,
          'many runs',
        );
        const module = optimizeModule(lowered.module, target);
        const { source: kernels, nameOf } = moduleToC(module);
        const main = module.kernels.find(({ name }) => name === mainName)!;
        writeFileSync(source, `${kernels}\nconst void *entry(void) { return (const void *)${nameOf(main)}; }\n`); // prettier-ignore
        const flags = commonFlags.filter((flag) => flag !== '-shared');
        execFileSync('gcc', [...flags, ...processor, '-S', '-o', text, source]);
        return readFileSync(text, 'utf8');
      })
      .join('\n');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The innermost loops: what is between a label and a jump back to it, if no other such loop is. */
function innermostLoops(text: string): readonly (readonly string[])[] {
  const lines = text.split('\n').map((line) => line.trim());
  const labels = new Map<string, number>();
  const loops: (readonly [number, number])[] = [];
  lines.forEach((line, at) => {
    const label = /^(\.L\w+):/.exec(line)?.[1];
    if (label !== undefined) labels.set(label, at);
    const begin = labels.get(/^j\w+\s+(\.L\w+)$/.exec(line)?.[1] ?? '');
    if (begin !== undefined) loops.push([begin, at]);
  });
  return loops
    .filter(
      ([begin, end]) => !loops.some(([b, e]) => b >= begin && e <= end && e - b < end - begin),
    )
    .map(([begin, end]) => lines.slice(begin, end + 1));
}

const isProduct = (line: string): boolean => /^vfmadd\w+ps\b.*%ymm/.test(line);
const isOnStack = (line: string): boolean => /%ymm/.test(line) && /\(%r[sb]p\b/.test(line);

const programs: Readonly<Record<string, () => Program>> = {
  attention: () =>
    programOf({ q: f32(8, 512, 64), k: f32(8, 512, 64), v: f32(8, 512, 64) }, ({ q, k, v }) => ({
      y: attention(q, k, v),
    })),
  'dense, relu': () =>
    programOf({ x: f32(64, 784), w: f32(256, 784), b: f32(256) }, ({ x, w, b }) => ({
      y: relu(add(matmul(x, transpose(w)), b)),
    })),
  'dense, gelu': () =>
    programOf({ x: f32(64, 784), w: f32(784, 256), b: f32(256) }, ({ x, w, b }) => ({
      y: gelu(add(matmul(x, w), b)),
    })),
  'long product': () =>
    programOf({ a: f32(512, 4100), b: f32(4100, 512) }, ({ a, b }) => ({ y: matmul(a, b) })),
  'long product, gelu': () =>
    programOf({ x: f32(64, 4100), w: f32(4100, 256), b: f32(256) }, ({ x, w, b }) => ({
      y: gelu(add(matmul(x, w), b)),
    })),
  'attention to many keys': () =>
    programOf({ q: f32(8, 64, 64), k: f32(8, 2048, 64), v: f32(8, 2048, 64) }, ({ q, k, v }) => ({
      y: attention(q, k, v),
    })),
  'product of any size': () => {
    const [m, k, n] = ['m', 'k', 'n'].map((name) => symbol(name));
    return programOf({ a: f32(m, k), b: f32(k, n) }, ({ a, b }) => ({ y: matmul(a, b) }));
  },
};

const skip = obstacle();

for (const [name, program] of Object.entries(programs)) {
  test(`${name}: GCC keeps all sums in registers`, { skip }, () => {
    const products = innermostLoops(assembly(program())).filter(
      (lines) => lines.filter(isProduct).length >= 8,
    );
    assert.ok(products.length > 0, 'there are products');
    for (const lines of products) assert.deepEqual(lines.filter(isOnStack), [], lines.join('\n'));
  });
}
