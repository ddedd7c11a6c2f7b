import {
  addDim, type Dim, floorDivDim, isStatic, maxDim, minDim, modDim, mulDim, sameDim, subDim,
} from '../../base/dim.js'; // prettier-ignore
import { isFloat } from '../../base/dtype.js';
import { integerRange } from '../../base/numbers.js';
import type { Value } from '../../ir/program.js';
import { elementByCode, elementNamed, type Element } from './elements.js';
import { type ImportedNode, inNode, type Results } from './node.js';
import { knownOperand, type Operand, TensorOperand } from './operand.js';

/*
 * Arithmetic on sizes. What a model computes from the sizes of its inputs is worked out while it is read,
 * in numbers and symbols, so that shapes stay what they are: sizes, rather than numbers that a run computes.
 */

/** Integers with their shape. */
interface Known {
  readonly shape: readonly number[];
  readonly elements: readonly Dim[];
}

type Fold = (node: ImportedNode, inputs: readonly (Known | null)[]) => Known | null;

const mostElements = 4096;

/** What a node gives where it is arithmetic on known integers; null for any other. */
export function foldNode(
  node: ImportedNode,
  run: (node: ImportedNode) => Results,
): readonly (Value | Operand | null)[] | null {
  const fold = folds[node.proto.opType];
  if (fold === undefined || node.proto.domain !== '') return null;
  const inputs: (Known | null)[] = [];
  for (const input of node.inputs) {
    if (input === null) inputs.push(null);
    else if (input.kind !== 'tensor' || !(input.element.isOwn || node.proto.opType === 'Shape'))
      return null;
    else if (readsShape.has(node.proto.opType)) inputs.push(null);
    else {
      const { known } = input;
      if (known === null) return null;
      inputs.push({ shape: input.type.shape as readonly number[], elements: known });
    }
  }
  while (inputs.length < 4) inputs.push(null);
  const found = fold(node, inputs);
  if (found === null || found.elements.length > mostElements) return null;
  if (!found.elements.every((each) => !isStatic(each) || Number.isSafeInteger(each))) return null;
  const element = elementAfter(node);
  if (element === null || !found.elements.every((each) => fits(element, each))) return null;
  const make = (): Value => {
    try {
      const [made] = [run(node)].flat();
      return made instanceof TensorOperand ? made.valueIn(node.region) : (made as Value);
    } catch (error) {
      throw inNode(error, node);
    }
  };
  return [knownOperand(element, found.shape, found.elements, make)];
}

const readsShape: ReadonlySet<string> = new Set(['Shape', 'Size']);
const givesInt64: ReadonlySet<string> = new Set(['Shape', 'Size']);
const givesBool: ReadonlySet<string> = new Set(['Equal', 'Less', 'LessOrEqual', 'Greater', 'GreaterOrEqual', 'And', 'Or', 'Not']); // prettier-ignore

function elementAfter(node: ImportedNode): Element | null {
  const { opType } = node.proto;
  if (givesInt64.has(opType)) return elementNamed('int64');
  if (givesBool.has(opType)) return elementNamed('bool');
  if (opType === 'ConstantOfShape') {
    const code = node.attributes.tensor('value')?.dataType ?? 1;
    const element = elementByCode(code);
    return element === undefined || isFloat(element.carrier) || !element.isOwn ? null : element;
  }
  if (opType === 'Cast') {
    const element = elementByCode(node.attributes.int('to', 0));
    return element === undefined || isFloat(element.carrier) || !element.isOwn ? null : element;
  }
  return node.element(opType === 'Where' ? 1 : 0);
}

/** Whether an element type holds a number. Sizes are held by wide integers only. */
function fits({ carrier }: Element, each: Dim): boolean {
  if (!isStatic(each)) return carrier === 'int64' || carrier === 'int32';
  if (carrier === 'int64') return true;
  const [least, greatest] = integerRange(carrier) ?? [0n, 1n];
  return each >= least && each <= greatest;
}

const folds: Readonly<Record<string, Fold>> = {
  Shape: (node) => {
    const { shape } = node.operand(0).type;
    const within = (at: number): number =>
      Math.min(Math.max(at < 0 ? at + shape.length : at, 0), shape.length);
    const start = within(node.attributes.int('start', 0));
    const end = within(node.attributes.int('end', shape.length));
    const elements = shape.slice(start, Math.max(end, start));
    return { shape: [elements.length], elements };
  },
  Size: (node) => ({
    shape: [],
    elements: [node.operand(0).type.shape.reduce<Dim>(mulDim, 1)],
  }),
  Identity: (_, [x]) => x,
  Cast: (_, [x]) => x,
  Add: elementwise(addDim),
  Sub: elementwise(subDim),
  Mul: elementwise(mulDim),
  Div: elementwise((a, b) => {
    if (b === 0 || !isStatic(b)) return null;
    if (isStatic(a)) return Math.trunc(a / b) + 0;
    return b > 0 ? floorDivDim(a, b) : null;
  }),
  Mod: (node, inputs) =>
    node.attributes.flag('fmod')
      ? null
      : elementwise((a, b) => (b === 0 || !isStatic(b) || b < 0 ? null : modDim(a, b)))(
          node,
          inputs,
        ),
  Max: elementwise(maxDim),
  Min: elementwise(minDim),
  Neg: (_, [x]) => mapped(x, (each) => mulDim(each, -1)),
  Not: (_, [x]) => mapped(x, (each) => (isStatic(each) ? Number(each === 0) : null)),
  Equal: elementwise((a, b) => (sameDim(a, b) ? 1 : isStatic(a) && isStatic(b) ? 0 : null)),
  Less: compared((a, b) => a < b),
  LessOrEqual: compared((a, b) => a <= b),
  Greater: compared((a, b) => a > b),
  GreaterOrEqual: compared((a, b) => a >= b),
  And: compared((a, b) => a !== 0 && b !== 0),
  Or: compared((a, b) => a !== 0 || b !== 0),
  Where: (_, inputs) => {
    const [condition] = inputs;
    if (condition === null || !condition.elements.every(isStatic)) return null;
    return broadcast(inputs.slice(0, 3), ([c, a, b]) => (c === 0 ? b : a));
  },
  Concat: (node, all) => {
    const inputs = all.slice(0, node.inputs.length);
    if (inputs.some((input) => input?.shape.length !== 1)) return null;
    const elements = inputs.flatMap((input) => input!.elements);
    return { shape: [elements.length], elements };
  },
  Unsqueeze: (node, [x]) => {
    if (x === null) return null;
    const axes = node.intsFrom('axes', 1, []);
    const rank = x.shape.length + axes.length;
    const added = new Set(axes.map((axis) => node.axis(axis, rank)));
    const old = x.shape[Symbol.iterator]();
    const shape = Array.from({ length: rank }, (_, axis) =>
      added.has(axis) ? 1 : (old.next().value as number),
    );
    return { shape, elements: x.elements };
  },
  Squeeze: (node, [x]) => {
    if (x === null) return null;
    const axes = node.intsFrom('axes', 1, null)?.map((axis) => node.axis(axis, x.shape.length));
    const shape = x.shape.filter((size, axis) => !(axes?.includes(axis) ?? size === 1));
    return x.shape.some((size, axis) => axes?.includes(axis) && size !== 1) ? null : { shape, elements: x.elements }; // prettier-ignore
  },
  Reshape: (node, [x, target]) => {
    if (x === null || target === null || !target.elements.every(isStatic)) return null;
    const count = x.elements.length;
    const wanted = target.elements.map((size, axis) => (size === 0 && !node.attributes.flag('allowzero') ? (x.shape[axis] ?? 0) : size)); // prettier-ignore
    const rest = wanted.filter((size) => size !== -1).reduce((a, b) => a * b, 1);
    const shape = wanted.map((size) => (size === -1 ? count / rest : size));
    const isExact = shape.every((size) => Number.isInteger(size) && size >= 0) && shape.reduce((a, b) => a * b, 1) === count; // prettier-ignore
    return isExact ? { shape, elements: x.elements } : null;
  },
  Gather: (_, [x, indices]) => {
    if (x?.shape.length !== 1 || indices === null || !indices.elements.every(isStatic)) return null;
    const elements = indices.elements.map((at) => x.elements[at < 0 ? at + x.elements.length : at]);
    return elements.includes(undefined as never) ? null : { shape: indices.shape, elements };
  },
  Slice: (node, [x]) => {
    if (x?.shape.length !== 1) return null;
    const [starts, ends] = node.version < 10 ? [node.attributes.ints('starts', []), node.attributes.ints('ends', [])] : [node.numbers(1), node.numbers(2)]; // prettier-ignore
    const [step] = node.has(4) ? node.numbers(4) : [1];
    if (starts.length !== 1 || ends.length !== 1 || step === 0) return null;
    const length = x.elements.length;
    const place = (at: number, least: number, most: number): number =>
      Math.min(Math.max(at < 0 ? at + length : at, least), most);
    const [from, to] = step > 0 ? [place(starts[0], 0, length), place(ends[0], 0, length)] : [place(starts[0], 0, length - 1), place(ends[0], -1, length - 1)]; // prettier-ignore
    const elements: Dim[] = [];
    for (let at = from; step > 0 ? at < to : at > to; at += step) elements.push(x.elements[at]);
    return { shape: [elements.length], elements };
  },
  ConstantOfShape: (node, [sizes]) => {
    if (sizes === null || !sizes.elements.every(isStatic)) return null;
    const count = sizes.elements.reduce((a, b) => a * b, 1);
    if (!(count >= 0 && count <= mostElements) || sizes.elements.some((size) => size < 0))
      return null;
    const value = node.attributes.tensor('value');
    if (value === undefined) return null;
    const [number] = node.importer.constantOf(value, 'the value of ConstantOfShape').known ?? [];
    if (number === undefined) return null;
    return { shape: sizes.elements, elements: Array.from({ length: count }, () => number) };
  },
  Range: (_, inputs) => {
    const [start, limit, delta] = inputs.map((input) => input?.elements[0]);
    if (![start, limit, delta].every((each) => each !== undefined && isStatic(each)) || delta === 0) return null; // prettier-ignore
    const [from, to, by] = [start, limit, delta] as number[];
    const count = Math.max(Math.ceil((to - from) / by), 0);
    if (count > mostElements) return null;
    return { shape: [count], elements: Array.from({ length: count }, (_, i) => from + i * by) };
  },
  ReduceProd: (node, [x]) => {
    if (x?.shape.length !== 1) return null;
    const isKept = node.attributes.flag('keepdims', true);
    return { shape: isKept ? [1] : [], elements: [x.elements.reduce<Dim>(mulDim, 1)] };
  },
  ReduceSum: (node, [x]) => {
    if (x?.shape.length !== 1 || node.attributes.flag('noop_with_empty_axes')) return null;
    const isKept = node.attributes.flag('keepdims', true);
    return { shape: isKept ? [1] : [], elements: [x.elements.reduce<Dim>(addDim, 0)] };
  },
  Expand: (_, [x, sizes]) => {
    if (x === null || sizes === null || !sizes.elements.every(isStatic)) return null;
    const count = sizes.elements.reduce((a, b) => a * b, 1);
    if (!(count >= 0 && count <= mostElements)) return null;
    return broadcast([x, { shape: sizes.elements, elements: [] }], ([each]) => each);
  },
};

function mapped(x: Known | null, f: (each: Dim) => Dim | null): Known | null {
  const elements = x?.elements.map(f);
  return x === null || elements!.includes(null)
    ? null
    : { shape: x.shape, elements: elements as Dim[] };
}

function elementwise(f: (a: Dim, b: Dim) => Dim | null): Fold {
  return (node, inputs) => {
    if (node.inputs.length < 2) return null;
    const combine = (a: Known | null, b: Known | null): Known | null =>
      a === null || b === null ? null : broadcast([a, b], ([x, y]) => f(x, y));
    return inputs.slice(0, node.inputs.length).reduce(combine);
  };
}

function compared(f: (a: number, b: number) => boolean): Fold {
  return elementwise((a, b) => (isStatic(a) && isStatic(b) ? Number(f(a, b)) : null));
}

/** NumPy's broadcasting of elements; null where the shapes do not fit or an element cannot be told. */
function broadcast(
  inputs: readonly (Known | null)[],
  f: (elements: readonly Dim[]) => Dim | null,
): Known | null {
  if (inputs.includes(null)) return null;
  const list = inputs as readonly Known[];
  const rank = Math.max(...list.map(({ shape }) => shape.length));
  const shape: number[] = [];
  for (let axis = 0; axis < rank; axis++) {
    const sizes = list.map((each) => each.shape[axis - rank + each.shape.length] ?? 1);
    const size = sizes.find((each) => each !== 1) ?? 1;
    if (sizes.some((each) => each !== 1 && each !== size)) return null;
    shape.push(size);
  }
  const count = shape.reduce((a, b) => a * b, 1);
  if (count > mostElements) return null;
  const elements: Dim[] = [];
  for (let i = 0; i < count; i++) {
    const found = f(
      list.map((each) => {
        let [rest, at, stride] = [i, 0, 1];
        for (let axis = rank - 1; axis >= 0; axis--) {
          const place = rest % shape[axis];
          rest = Math.floor(rest / shape[axis]);
          const size = each.shape[axis - rank + each.shape.length] ?? 1;
          if (size !== 1) at += place * stride;
          stride *= size;
        }
        return each.elements[at];
      }),
    );
    if (found === null) return null;
    elements.push(found);
  }
  return { shape, elements };
}
