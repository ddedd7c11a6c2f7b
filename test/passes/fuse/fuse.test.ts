import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type Dim, evaluateDim, symbol } from '../../../src/base/dim/index.js';
import type { DType } from '../../../src/base/dtype.js';
import type { Attributes } from '../../../src/base/attributes/schema.js';
import type { KernelLowering } from '../../../src/ops/declare/lowering.js';
import type { Program, Value } from '../../../src/ir/program.js';
import { add, cast, concat, copy, div, exp, gather, matmul, max, maximum, mul, neg, reshape, sqrt, sub, sum, tanh, transpose } from '../../../src/ops/index.js'; // prettier-ignore
import { gpuTarget } from '../../../src/kernels/gpu/index.js';
import { fuse } from '../../../src/passes/fuse/fuse.js';
import { schedule } from '../../../src/passes/plan/schedule.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import type { CompileOptions, Operand } from '../../../src/runtime/execution/executable.js';
import { elementsOf, floats, operand, programOf } from '../../support/programs.js';
import { type Choice, spelledProgram, type stepKinds } from '../../support/random-programs.js';

const choices: fc.Arbitrary<Choice[]> = fc.array(
  fc.tuple(fc.nat(1000), fc.nat(5), fc.nat(8), fc.nat(3)),
  { minLength: 1, maxLength: 14 },
);

/** Small integers, so that sums are exact in any order. */
function operandsFor(program: Program, sizes: ReadonlyMap<string, number>): Operand[] {
  return program.inputs.map(({ type }, i) => {
    const shape = type.shape.map((dim) => evaluateDim(dim, sizes));
    const length = shape.reduce((a, b) => a * b, 1);
    return operand(
      type.dtype,
      shape,
      Array.from({ length }, (_, k) => ((k * 7 + i * 3) % 11) - 5),
    );
  });
}

function results(
  program: Program,
  options: CompileOptions,
  sizes: ReadonlyMap<string, number>,
): unknown {
  const executable = compile(program, options);
  const operands = operandsFor(program, sizes);
  const first = executable.run(operands);
  const second = executable.run(operands);
  const shown = first.map((each) => ({ shape: each.shape, elements: elementsOf(each) }));
  assert.deepEqual(
    second.map((each) => ({ shape: each.shape, elements: elementsOf(each) })),
    shown,
    'a second run differs',
  );
  return shown;
}

function property(
  dtype: DType,
  kinds: readonly (keyof typeof stepKinds)[],
  dims: readonly [Dim, Dim],
  bindings: readonly (readonly [number, number])[],
  numRuns: number,
): void {
  fc.assert(
    fc.property(choices, (spelled) => {
      const program = spelledProgram(dtype, dims, kinds, spelled);
      for (const [n, m] of bindings) {
        const sizes = new Map([
          ['n', n],
          ['m', m],
        ]);
        const plain = results(program, { target: 'interpreter', fuse: false }, sizes);
        assert.deepEqual(results(program, { target: 'interpreter' }, sizes), plain);
        assert.deepEqual(results(program, { target: 'wasm' }, sizes), plain);
      }
    }),
    { seed: 20261121, numRuns },
  );
}

const symbolic = [symbol('n'), symbol('m')] as const;
const everySize = [
  [3, 5],
  [0, 2],
  [1, 1],
  [2, 0],
  [1, 9],
] as const;

for (const dtype of ['float32', 'float16', 'bfloat16', 'int8', 'float64'] as const) {
  test(`fusing elementwise and moving operators changes no bit of ${dtype}`, () => {
    const kinds =
      dtype === 'int8'
        ? (['exact', 'moving'] as const)
        : (['exact', 'rounding', 'moving'] as const);
    property(dtype, kinds, [3, 5], [[3, 5]], 20);
  });
}

test('fusing reductions of exact sums changes no bit, at any size', () => {
  property('float32', ['exact', 'folding', 'moving'], symbolic, everySize, 20);
});

test('static sizes of every kind', () => {
  for (const [n, m] of [...everySize, [4, 33]] as const) {
    property('float32', ['exact', 'folding', 'moving', 'exact'], [n, m], [[n, m]], 6);
  }
});

test('long programs over shapes with axes of size 1, where domains are easily confused', () => {
  const long = fc.array(fc.tuple(fc.nat(1000), fc.nat(9), fc.nat(9), fc.nat(3)), {
    minLength: 8,
    maxLength: 30,
    size: 'max',
  });
  const shapes = fc.constantFrom<[number, number]>([3, 5], [1, 4], [6, 1], [2, 9]);
  fc.assert(
    fc.property(long, shapes, (spelled, dims) => {
      const program = spelledProgram(
        'float32',
        dims,
        ['exact', 'folding', 'moving', 'exact'],
        spelled,
      );
      const plain = results(program, { target: 'interpreter', fuse: false }, new Map());
      assert.deepEqual(results(program, { target: 'interpreter' }, new Map()), plain);
    }),
    { seed: 7, numRuns: 150 },
  );
});

test('merging never makes two groups wait for each other through a third', () => {
  // Found by the property above: work that is repeated in several groups hid a way around.
  const choices: Choice[] = [
    [0, 0, 0, 0], [596, 3, 0, 0], [0, 0, 0, 0], [278, 0, 0, 0], [299, 3, 0, 0], [0, 0, 0, 0],
    [0, 0, 2, 0], [572, 2, 0, 0], [0, 4, 0, 0], [0, 0, 0, 0], [0, 4, 6, 0], [572, 0, 0, 0],
    [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 7, 7, 0],
  ]; // prettier-ignore
  const kinds = ['exact', 'folding', 'moving', 'exact'] as const;
  const program = spelledProgram('float32', [3, 5], kinds, choices);
  const plain = results(program, { target: 'interpreter', fuse: false }, new Map());
  assert.deepEqual(results(program, { target: 'interpreter' }, new Map()), plain);
});

const matrix = { dtype: 'float32', shape: [32, 48] } as const;
const row = { dtype: 'float32', shape: [48] } as const;

/** The names of the operators in each group, in the order in which the groups run. */
function groupsOf(program: Program, target: Parameters<typeof fuse>[1] = {}): string[] {
  return schedule(program, fuse(program, target)).map(({ members }) =>
    members
      .map((id) => {
        const node = program.node(id);
        return node.kind === 'call' ? node.op.name : node.kind;
      })
      .join(' '),
  );
}

test('a chain, with all that broadcasts into it cheaply, is one group', () => {
  const program = programOf({ x: matrix, b: row }, ({ x, b }) => ({
    y: mul(exp(add(x, mul(b, 2))), sub(x, 1)),
  }));
  assert.deepEqual(groupsOf(program), ['mul add exp sub mul']);
});

test('what is expensive is not computed once more for every row', () => {
  const program = programOf({ x: matrix, b: row }, ({ x, b }) => ({ y: add(x, exp(b)) }));
  assert.deepEqual(groupsOf(program), ['exp', 'add']);
});

test('what is gathered at wide positions stays out of kernels whose vectors have no room for them', () => {
  for (const [dtype, expected] of [['int32', ['gather matmul']], ['int64', ['gather', 'matmul']]] as const) {
    const positions = { dtype, shape: [48, 16] } as const;
    const weight = { dtype: 'float32', shape: [48, 20] } as const;
    const program = programOf({ x: matrix, weight, positions }, ({ x, weight: w, positions: at }) => ({
      y: matmul(x, gather(w, at, 1)),
    }));
    assert.deepEqual(groupsOf(program), expected);
    const operands = [
      floats([32, 48], Array.from({ length: 32 * 48 }, (_, i) => (i % 7) - 3)),
      floats([48, 20], Array.from({ length: 48 * 20 }, (_, i) => (i % 5) - 2)),
      operand(dtype, [48, 16], Array.from({ length: 48 * 16 }, (_, i) => (dtype === 'int64' ? BigInt(i % 20) : i % 20))),
    ];
    const [plain, fused] = [false, true].map((isFused) => elementsOf(compile(program, { target: 'wasm', fuse: isFused }).run(operands)[0]));
    assert.deepEqual(fused, plain);
  }
}); // prettier-ignore

test('results over one domain come from one kernel', () => {
  const program = programOf({ m: matrix, g: matrix, p: matrix }, ({ m, g, p }) => {
    const next = add(mul(m, 0.9), g);
    return { next, p: sub(p, mul(next, 0.1)) };
  });
  assert.deepEqual(groupsOf(program), ['mul add mul sub']);
});

test('a product is continued where it is stored', () => {
  const program = programOf(
    { x: matrix, w: { dtype: 'float32', shape: [48, 16] }, b: { dtype: 'float32', shape: [16] } },
    ({ x, w, b }) => {
      const h = add(matmul(x, w), b);
      return { h, y: maximum(h, 0) };
    },
  );
  assert.deepEqual(groupsOf(program), ['matmul add maximum']);
});

test('what precedes something long behind a product is its epilogue, the long part is not', () => {
  const program = programOf(
    {
      x: matrix,
      w: { dtype: 'float32', shape: [48, 16] },
      b: { dtype: 'float32', shape: [16] },
      r: { dtype: 'float32', shape: [32, 16] },
    },
    ({ x, w, b, r }) => ({ y: mul(tanh(tanh(maximum(add(matmul(x, w), b), r))), 2) }),
  );
  assert.deepEqual(groupsOf(program), ['matmul add maximum', 'tanh tanh mul']);
  // A GPU has what follows in its code once.
  assert.deepEqual(groupsOf(program, gpuTarget), ['matmul add maximum tanh tanh mul']);
  const [plain, fused] = [false, true].map((fuse) =>
    results(program, { target: 'interpreter', fuse }, new Map()),
  );
  assert.deepEqual(fused, plain);
});

test('what several need behind a product is its epilogue, whatever else they do', () => {
  const program = programOf(
    { x: matrix, w: { dtype: 'float32', shape: [48, 16] }, b: { dtype: 'float32', shape: [16] } },
    ({ x, w, b }) => {
      const h = add(matmul(x, w), b);
      return { y: mul(tanh(tanh(h)), h) };
    },
  );
  assert.deepEqual(groupsOf(program), ['matmul add', 'tanh tanh mul']);
});

test('a kernel looks through rearrangements only when it says so, and never through work', () => {
  const declaration = matmul.declaration;
  for (const readsAnyOrder of [false, true]) {
    const lowering = { ...(declaration.lowering as KernelLowering<Attributes>), readsAnyOrder };
    const product = { ...declaration, lowering };
    const program = programOf({ x: matrix, y: matrix }, ({ x, y }, p) => ({
      z: p.append(product, [transpose(x), y])[0],
      w: p.append(product, [exp(x), transpose(y)])[0],
    }));
    const expected = readsAnyOrder
      ? ['exp', 'transpose matmul', 'transpose matmul']
      : ['exp', 'matmul', 'matmul', 'transpose', 'transpose'];
    assert.deepEqual(groupsOf(program).toSorted(), expected);
    const [plain, fused] = [false, true].map((fuse) =>
      results(program, { target: 'interpreter', fuse }, new Map()),
    );
    assert.deepEqual(fused, plain);
  }
});

test('a reduction folds what is computed on the fly, and may keep it', () => {
  const norm = programOf({ x: matrix }, ({ x }) => ({ y: sqrt(sum(mul(x, x), 1)) }));
  assert.deepEqual(groupsOf(norm), ['mul sum sqrt']);
  const shares = programOf({ x: matrix }, ({ x }) => {
    const e = exp(sub(x, max(x, 0)));
    return { y: div(e, sum(e, 0)) };
  });
  assert.deepEqual(groupsOf(shares), ['max', 'sub exp sum', 'div']);
});

test('reductions of one array over the same axes share a pass', () => {
  const program = programOf({ x: matrix }, ({ x }) => ({
    first: sum(x, 0),
    second: sum(mul(x, x), 0, { keepdims: true }),
    other: sum(x, 1),
  }));
  assert.deepEqual(groupsOf(program).toSorted(), ['sum', 'sum mul sum']);
});

test('results that read one array at the same index share a pass, unless that makes vectors narrower', () => {
  const program = programOf({ x: matrix, y: matrix, b: row }, ({ x, y, b }) => ({
    first: add(x, y),
    second: exp(x),
    narrow: cast(x, 'int8'),
    other: add(neg(b), 1),
  }));
  assert.deepEqual(groupsOf(program).toSorted(), ['add exp', 'cast', 'neg add']);
});

test('a copy of what is updated in place is made where it is updated', () => {
  const program = programOf({ x: matrix, g: matrix }, ({ x, g }) => ({
    before: copy(x),
    x: sub(x, tanh(g)),
  }));
  const [{ reuses, reads }, ...others] = fuse(program);
  assert.equal(others.length, 0);
  assert.equal(reads.length, 2);
  for (const operands of reuses.values()) assert.equal(operands.length, 2);
});

test('what one nest makes is stored where a concatenation wants it', () => {
  for (const axis of [0, 1]) {
    for (const rows of [3, symbol('n')]) {
      const type = { dtype: 'float32', shape: [rows, 5] } as const;
      const program = programOf({ x: type, y: type }, ({ x, y }) => {
        const shared = mul(maximum(mul(x, y), x), add(maximum(x, y), mul(x, x)));
        const parts = [add(shared, y), sub(shared, x), mul(shared, shared)];
        return { joined: concat(parts, axis), part: parts[1] };
      });
      assert.deepEqual(groupsOf(program).length, 1);
      const sizes = new Map([['n', 4]]);
      const plain = results(program, { target: 'interpreter', fuse: false }, sizes);
      assert.deepEqual(results(program, { target: 'interpreter' }, sizes), plain);
      assert.deepEqual(results(program, { target: 'wasm' }, sizes), plain);
    }
  }
});

test('a concatenation of arrays from elsewhere, of other shapes or of nothing has a kernel of its own', () => {
  const program = programOf({ x: matrix, y: matrix }, ({ x, y }) => ({ z: concat([exp(x), y]) }));
  assert.deepEqual(groupsOf(program), ['exp', 'concat']);
  const reshaped = programOf({ x: matrix }, ({ x }) => {
    const shared = exp(x);
    return { z: concat([reshape(add(shared, x), [48, 32]), reshape(sub(shared, x), [48, 32])]) };
  });
  assert.deepEqual(groupsOf(reshaped), ['exp add sub', 'concat']);
  const none = programOf({ x: { dtype: 'float32', shape: [0, 3] } }, ({ x }) => {
    const shared = exp(x);
    return { z: concat([add(shared, x), sub(shared, x)]) };
  });
  assert.deepEqual(groupsOf(none), ['exp add sub', 'concat']);
});

test('reductions that have only a number in common stay apart', () => {
  const names = Array.from({ length: 30 }, (_, i) => `x${i}`);
  const groups = fuse(
    programOf(Object.fromEntries(names.map((name) => [name, matrix])), (inputs) =>
      Object.fromEntries(names.map((name) => [`${name}_sum`, mul(sum(inputs[name], 0), 0.5)])),
    ),
  );
  assert.equal(groups.length, 30);
  for (const { reads } of groups) assert.equal(reads.length, 1);
});

test('no kernel has more than a few arrays in flight, whatever its reductions have in common', () => {
  const names = Array.from({ length: 60 }, (_, i) => `x${i}`);
  const groups = fuse(
    programOf(Object.fromEntries(names.map((name) => [name, matrix])), (inputs) =>
      Object.fromEntries(
        names.map((name) => [`${name}_sum`, sum(mul(inputs.x0, inputs[name]), 0)]),
      ),
    ),
  );
  assert.ok(groups.length > 1);
  for (const { reads, writes } of groups) assert.ok(reads.length + writes.length <= 24);
});

test('groups that would wait for each other are not merged', () => {
  // y needs the sum of a, and a itself: one kernel with one look at a cannot store a, wait for its sum, and go on.
  const program = programOf({ x: { dtype: 'float32', shape: [128, 128] } }, ({ x }) => {
    const a = exp(x);
    return { a, y: sub(a, sum(a)) };
  });
  assert.deepEqual(groupsOf(program), ['exp sum', 'sub']);
});

test('a shared producer is repeated when it is cheap and stored when it is not', () => {
  const readers = (h: Value): Record<string, Value> => ({ y: sum(h, 0), z: sum(h, 1) });
  const cheap = programOf({ x: matrix }, ({ x }) => readers(add(x, 1)));
  assert.deepEqual(groupsOf(cheap).toSorted(), ['add sum', 'add sum']);
  const dear = programOf({ x: matrix }, ({ x }) => readers(exp(x)));
  assert.deepEqual(groupsOf(dear).toSorted(), ['exp sum', 'sum']);
});

test('a reshape between operators leaves memory in row-major order', () => {
  const program = programOf({ x: matrix }, ({ x }) => ({ y: neg(reshape(exp(x), [48, 32])) }));
  assert.deepEqual(groupsOf(program), ['exp', 'neg']);
});
