import { boundsOf, type Dim, isStatic, elementCount } from '../../../base/dim/index.js';
import { allocate, type DType, type HostArray } from '../../../base/dtype.js';
import { writeElement } from '../../../base/element.js';
import { UnsupportedError } from '../../../base/errors.js';
import type { Shape } from '../../../ir/types.js';
import type {
  OnnxAttributes,
  OnnxDType,
  OnnxValue,
  OnnxWriter,
} from '../../../ops/declare/onnx.js';
import { carrierDType, isCarried, onnxruntimeLacks } from './carriers.js';
import { elementCode, type NamedValue, type OnnxNode, exportOp, type Stored, type Subgraph, type TypedValue } from './parts.js'; // prettier-ignore
import { Sizes } from './sizes.js';

/** A graph under construction: the model's own, or that of a region. */
interface Open {
  readonly nodes: OnnxNode[];
  /** Values computed here: sizes by their scope, conversions by the converted value. */
  readonly known: Map<Sizes | OnnxValue, Map<string, OnnxValue>>;
}

/** Constants up to this many bytes are stored once. */
const shortest = 64;

/** Builds graphs: appends nodes, names values and stores constants. `OnnxWriter` is the part that facets see. */
export class GraphWriter implements OnnxWriter {
  readonly opset: number;
  /** The tensors that the model stores. */
  readonly stored: Stored[] = [];
  readonly #constants: Map<string, OnnxValue> = new Map();
  /** For each name hint, the number of names given out. */
  readonly #names: Map<string, number> = new Map();
  readonly #graphs: Open[] = [{ nodes: [], known: new Map() }];
  readonly #scopes: Sizes[] = [new Sizes()];
  readonly #isForOnnxruntime: boolean;
  #operator = 'graph';

  /** @param isForOnnxruntime Refuses operators in dtypes that onnxruntime lacks. */
  constructor(opset: number, isForOnnxruntime: boolean = false) {
    this.opset = opset;
    this.#isForOnnxruntime = isForOnnxruntime;
  }

  learn(value: OnnxValue, shape: Shape): void {
    this.scope.learn(value, shape);
  }

  /** The nodes written so far to the current graph. */
  get written(): readonly OnnxNode[] {
    return this.#open.nodes;
  }

  /** The symbols of the current program. */
  get scope(): Sizes {
    return this.#scopes[this.#scopes.length - 1];
  }

  get #open(): Open {
    return this.#graphs[this.#graphs.length - 1];
  }

  /** A value of exactly this name, which no other value will get. */
  given(name: string, dtype: OnnxDType): OnnxValue {
    this.reserve(name);
    return { name, dtype } satisfies NamedValue;
  }

  /** Reserves a name for an output, which is named last. */
  reserve(name: string): void {
    this.#names.set(name, Math.max(1, this.#names.get(name) ?? 0));
  }

  /** A value with a fresh name, before its definition. */
  fresh(hint: string, dtype: OnnxDType): OnnxValue {
    let count = this.#names.get(hint) ?? 0;
    let name = count === 0 ? hint : `${hint}_${count}`;
    while (count > 0 && this.#names.has(name)) name = `${hint}_${++count}`;
    this.#names.set(hint, count + 1);
    if (name !== hint) this.#names.set(name, 1);
    return { name, dtype } satisfies NamedValue;
  }

  /** Names values and errors after an operator while `build` writes. */
  naming<R>(operator: string, build: () => R): R {
    const previous = this.#operator;
    this.#operator = operator;
    try {
      return build();
    } finally {
      this.#operator = previous;
    }
  }

  /** Writes a program with its own symbols. */
  inScope<R>(scope: Sizes, build: () => R): R {
    this.#scopes.push(scope);
    try {
      return build();
    } finally {
      this.#scopes.pop();
    }
  }

  /** Writes a nested graph, which may capture outer values. */
  subgraph(
    hint: string,
    build: () => {
      readonly inputs: readonly TypedValue[];
      readonly outputs: readonly TypedValue[];
    },
  ): Subgraph {
    this.#graphs.push({ nodes: [], known: new Map() });
    try {
      const { inputs, outputs } = build();
      return { name: this.fresh(hint, 'bool').name, nodes: this.#open.nodes, inputs, outputs };
    } finally {
      this.#graphs.pop();
    }
  }

  /** Appends a node without converting its operands' dtypes. */
  append(
    type: string,
    inputs: readonly (OnnxValue | null)[],
    dtypes: readonly OnnxDType[],
    attributes: OnnxAttributes = {},
    graphs: Readonly<Record<string, Subgraph>> = {},
  ): readonly OnnxValue[] {
    const outputs = dtypes.map((dtype) => this.fresh(this.#operator, dtype));
    this.#open.nodes.push({ type, inputs, outputs, attributes, graphs });
    return outputs;
  }

  node(
    type: string,
    operands: readonly (OnnxValue | null)[],
    attributes: OnnxAttributes = {},
    dtype: OnnxDType | null = null,
  ): OnnxValue {
    return this.nodes(type, operands, attributes, [dtype])[0];
  }

  nodes(
    type: string,
    operands: readonly (OnnxValue | null)[],
    attributes: OnnxAttributes,
    dtypes: readonly (OnnxDType | null)[],
  ): readonly OnnxValue[] {
    const own = operands.find((operand, i) => operand !== null && isCarried(type, i))?.dtype;
    if (own === undefined) return this.append(type, operands, dtypes.map((dtype) => dtype!), attributes); // prettier-ignore
    const carrier = carrierDType(type, own);
    if (carrier === null) this.unsupported(`${type} takes no ${own}`);
    if (this.#isForOnnxruntime && onnxruntimeLacks(type, carrier)) {
      this.unsupported(`onnxruntime has no ${type} of ${carrier}`);
    }
    const inputs = operands.map((operand, i) =>
      operand === null || !isCarried(type, i) ? operand : this.cast(operand, carrier),
    );
    const results = this.append(type, inputs, dtypes.map((dtype) => dtype ?? carrier), attributes); // prettier-ignore
    return results.map((result, i) => (dtypes[i] === null ? this.cast(result, own) : result));
  }

  /** A stored tensor, row-major. */
  constant(dtype: OnnxDType, data: HostArray, shape: readonly number[], name?: string): OnnxValue {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    const key = bytes.length > shortest || name !== undefined ? null : `${dtype} ${shape.join()} ${bytes.join()}`; // prettier-ignore
    const known = key === null ? undefined : this.#constants.get(key);
    if (known !== undefined) return known;
    const value = name === undefined ? this.fresh('constant', dtype) : this.given(name, dtype);
    this.stored.push({ value, shape, bytes });
    if (key !== null) this.#constants.set(key, value);
    return value;
  }

  scalar(dtype: OnnxDType, value: number | bigint): OnnxValue {
    const data = allocate(homeOf(dtype), 1);
    writeElement(homeOf(dtype), data, 0, value);
    return this.constant(dtype, data, []);
  }

  ints(values: readonly number[]): OnnxValue {
    return this.constant('int64', BigInt64Array.from(values, BigInt), [values.length]);
  }

  sizes(dims: readonly Dim[]): OnnxValue {
    if (dims.every(isStatic)) return this.ints(dims);
    const key = `[${dims.map(String).join()}]`;
    const scope = this.scope.homeOf(dims);
    return this.#remembered(scope, key, () => {
      if (dims.length === 1) return scope.write(this, dims[0]);
      return this.node('Concat', joined(dims).map((part) => this.sizes(part)), { axis: 0 }); // prettier-ignore
    });
  }

  size(dim: Dim, dtype: OnnxDType = 'int64'): OnnxValue {
    if (isStatic(dim)) return this.scalar(dtype, dim);
    const whole = this.#remembered(this.scope.homeOf([dim]), String(dim), () =>
      this.node('Reshape', [this.sizes([dim]), this.ints([])]),
    );
    return this.cast(whole, dtype);
  }

  cast(x: OnnxValue, dtype: OnnxDType): OnnxValue {
    if (x.dtype === dtype) return x;
    return this.#remembered(x, dtype, () => this.append('Cast', [x], [dtype], { to: elementCode(dtype) })[0]); // prettier-ignore
  }

  reshape(x: OnnxValue, shape: Shape): OnnxValue {
    const unknown = shape.filter((dim) => !isStatic(dim)).length;
    const rest = elementCount(shape.filter(isStatic));
    // A single unknown size follows from the others, unless these are 0.
    if (unknown === 1 && rest !== 0) {
      return this.node('Reshape', [x, this.ints(shape.map((dim) => (isStatic(dim) ? dim : -1)))]);
    }
    const mayBeEmpty = unknown > 0 || rest === 0;
    return this.node('Reshape', [x, this.sizes(shape)], mayBeEmpty ? { allowzero: 1 } : {});
  }

  transpose(x: OnnxValue, order: readonly number[]): OnnxValue {
    return order.every((axis, place) => axis === place) ? x : this.node('Transpose', [x], { perm: order }); // prettier-ignore
  }

  reduce(type: string, x: OnnxValue, axes: readonly number[], keepdims: boolean): OnnxValue {
    if (axes.length === 0) return x;
    const keep = { keepdims: Number(keepdims) };
    // The axes became an operand with opset 13 for sums, with 18 for the others.
    return this.opset >= 18 || type === 'ReduceSum'
      ? this.node(type, [x, this.ints(axes)], keep)
      : this.node(type, [x], { axes, ...keep });
  }

  scan(
    { axis, reverse, shape }: Parameters<OnnxWriter['scan']>[0],
    initial: readonly OnnxValue[],
    arrays: readonly OnnxValue[],
    step: Parameters<OnnxWriter['scan']>[3],
  ): OnnxValue {
    // Runtimes refuse loops over an empty axis, so one element is appended and its result dropped.
    const isExtended = boundsOf(shape[axis]).min === 0;
    const extended = isExtended ? arrays.map((array) => this.#extended(array, axis, shape, reverse)) : arrays; // prettier-ignore
    const rest = this.sizes(shape.toSpliced(axis, 1));
    const started = initial.map((state) => this.node('Expand', [state, rest]));
    let kept: OnnxDType = 'float32';
    const untyped = (value: OnnxValue): TypedValue => ({ value, shape: null });
    const body = this.subgraph('scan', () => {
      const states = initial.map(({ dtype }) => this.fresh('state', dtype));
      const elements = arrays.map(({ dtype }) => this.fresh('element', dtype));
      const after = step(states, elements);
      kept = after.kept.dtype;
      // Outputs of a graph must be defined in it, each once.
      const made = [...after.states, after.kept].map((value) => this.append('Identity', [value], [value.dtype])[0]); // prettier-ignore
      return { inputs: [...states, ...elements].map(untyped), outputs: made.map(untyped) };
    });
    const direction = Number(reverse);
    const results = this.append(
      'Scan',
      [...started, ...extended],
      [...initial.map(({ dtype }) => dtype), kept],
      {
        num_scan_inputs: arrays.length,
        scan_input_axes: arrays.map(() => axis),
        scan_input_directions: arrays.map(() => direction),
        scan_output_axes: [axis],
        scan_output_directions: [direction],
      },
      { body },
    );
    const all = results[initial.length];
    if (!isExtended) return all;
    const [start, end] = reverse ? [1, 2 ** 31 - 1] : [0, -1];
    return this.node('Slice', [all, this.ints([start]), this.ints([end]), this.ints([axis])]);
  }

  /** Appends one element along an axis, at the end of the iteration order. */
  #extended(x: OnnxValue, axis: number, shape: Shape, reverse: boolean): OnnxValue {
    const one = shape.map((_, each) => Number(each === axis));
    const none = shape.map(() => 0);
    return this.node('Pad', [x, this.ints(reverse ? [...one, ...none] : [...none, ...one])]);
  }

  unsupported(problem: string, advice?: string): never {
    throw new UnsupportedError(`${this.#operator} cannot be written in ONNX: ${problem}`, {
      op: exportOp,
      expected: `what operators of opset ${this.opset} can say`,
      actual: this.#operator,
      advice,
    });
  }

  /** Computed once in each graph, unless an enclosing one has it. */
  #remembered(of: Sizes | OnnxValue, key: string, compute: () => OnnxValue): OnnxValue {
    for (const { known } of this.#graphs) {
      const found = known.get(of)?.get(key);
      if (found !== undefined) return found;
    }
    const value = compute();
    const { known } = this.#open;
    if (!known.has(of)) known.set(of, new Map());
    known.get(of)!.set(key, value);
    return value;
  }
}

/** Host dtype in which elements are stored before they are written. */
function homeOf(dtype: OnnxDType): DType {
  if (dtype === 'uint32') return 'int32';
  return dtype === 'uint64' ? 'int64' : dtype;
}

/** Groups adjacent static sizes; every symbolic size is alone. */
function joined(dims: readonly Dim[]): readonly (readonly Dim[])[] {
  const parts: Dim[][] = [];
  dims.forEach((dim, i) => {
    if (i > 0 && isStatic(dim) && isStatic(dims[i - 1])) parts[parts.length - 1].push(dim);
    else parts.push([dim]);
  });
  return parts;
}
