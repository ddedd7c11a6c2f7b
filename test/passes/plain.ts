import { evaluateDim, elementCount } from '../../src/base/dim/index.js';
import { readElement } from '../../src/base/element.js';
import { bindProgram } from '../../src/ir/bind.js';
import type { CallNode, Program } from '../../src/ir/program.js';
import { sizesPassedBy } from '../../src/ops/declare/facets.js';

/** An array of doubles for checking programs against; what its dtype is does not matter here. */
export interface Plain {
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

export function plain(shape: readonly number[], data: readonly number[]): Plain {
  return { shape, data };
}

/** Runs a program of a few operators by their definitions in NumPy's words, in doubles. */
export function evaluate(
  program: Program,
  inputs: readonly Plain[],
  sizes: readonly number[] = [],
): readonly Plain[] {
  const bindings = bindProgram<number>(
    program,
    inputs.map(({ shape }, i) => ({ dtype: program.inputs[i].type.dtype, shape })),
    sizes,
  );
  const results: (readonly Plain[])[] = [];
  let input = 0;
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind === 'variable') results.push([inputs[input++]]);
    else if (node.kind === 'constant') {
      const { type, data } = node.data;
      const elements = Array.from({ length: data.length }, (_, i) =>
        Number(readElement(type.dtype, data, i)),
      );
      results.push([plain(type.shape, elements)]);
    } else if (node.kind === 'check') results.push([]);
    else {
      const operands = program.operands(id).map(({ node, port }) => results[node][port]);
      const shape = node.types[0].shape.map((dim) => evaluateDim(dim, bindings));
      results.push(
        node.op.name === 'call'
          ? evaluate(
              node.regions[0],
              operands,
              sizesPassedBy(node).map((size) => evaluateDim(size, bindings)),
            )
          : [plain(shape, compute(node, operands, shape))],
      );
    }
  }
  return program.outputs.map(({ value }) => results[value.node][value.port]);
}

function compute(node: CallNode, operands: readonly Plain[], shape: readonly number[]): number[] {
  const size = Number(elementCount(shape));
  const pointwise = (f: (...x: number[]) => number): number[] =>
    Array.from({ length: size }, (_, i) => f(...operands.map((x) => at(x, shape, i))));
  const [x] = operands;
  switch (node.op.name) {
    case 'add': return pointwise((a, b) => a + b);
    case 'sub': return pointwise((a, b) => a - b);
    case 'mul': return pointwise((a, b) => a * b);
    case 'div': return pointwise((a, b) => a / b);
    case 'neg': return pointwise((a) => -a);
    case 'exp': return pointwise((a) => Math.exp(a));
    case 'square': return pointwise((a) => a * a);
    case 'cast': return pointwise((a) => a);
    case 'broadcastTo': return pointwise((a) => a);
    case 'reshape': return [...x.data];
    case 'barrier': return [...x.data];
    case 'fill': return Array.from({ length: size }, () => node.attributes.value as number);
    case 'sum': return sumOver(x, node.attributes.axes as readonly number[] | null, size);
    default: throw new Error(`the plain evaluator does not know ${node.op.name}`);
  }
} // prettier-ignore

/** The element of `x`, broadcast to `shape`, at row-major position `i`. */
function at(x: Plain, shape: readonly number[], i: number): number {
  let position = 0;
  let stride = 1;
  let rest = i;
  for (let axis = shape.length - 1, own = x.shape.length - 1; axis >= 0; axis--, own--) {
    const index = rest % shape[axis];
    rest = Math.floor(rest / shape[axis]);
    if (own < 0) continue;
    if (x.shape[own] !== 1) position += index * stride;
    stride *= x.shape[own];
  }
  return x.data[position];
}

function sumOver(x: Plain, axes: readonly number[] | null, size: number): number[] {
  const rank = x.shape.length;
  const folded = x.shape.map((_, axis) =>
    axes === null ? true : axes.some((a) => (a + rank) % rank === axis),
  );
  const result = Array.from({ length: size }, () => 0);
  x.data.forEach((value, i) => {
    let rest = i;
    let position = 0;
    let stride = 1;
    for (let axis = rank - 1; axis >= 0; axis--) {
      const index = rest % x.shape[axis];
      rest = Math.floor(rest / x.shape[axis]);
      if (folded[axis]) continue;
      position += index * stride;
      stride *= x.shape[axis];
    }
    result[position] += value;
  });
  return result;
}
