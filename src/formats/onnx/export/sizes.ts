import { type Dim, fold } from '../../../base/dim/index.js';
import { InternalError } from '../../../base/errors.js';
import { symbolsOfShape } from '../../../ir/bind.js';
import type { OnnxValue, OnnxWriter } from '../../../ops/declare/onnx.js';
import type { Shape } from '../../../ir/types.js';
import { linearSize } from '../../linear-size.js';

/** A value that reveals a symbol: `extent = coefficient * symbol + offset` along an axis. */
interface Source {
  readonly value: OnnxValue;
  readonly axis: number;
  readonly coefficient: number;
  readonly offset: number;
}

/**
 * Sources of a program's symbols in the model: sizes of existing values. A nested program shares the outer
 * symbols that it is `shown`; its others are its own.
 */
export class Sizes {
  readonly #outer: Sizes | null;
  readonly #shown: ReadonlySet<string>;
  readonly #sources: Map<string, Source | OnnxValue> = new Map();

  constructor(outer: Sizes | null = null, shown: ReadonlySet<string> = new Set()) {
    this.#outer = outer;
    this.#shown = shown;
  }

  /** Records the sizes of a value. */
  learn(value: OnnxValue, shape: Shape): void {
    shape.forEach((dim, axis) => {
      const form = linearSize(dim);
      if (form === null || this.#find(form.name) !== undefined) return;
      this.#sources.set(form.name, { value, axis, ...form });
    });
  }

  /** True when the sizes follow from values that have been written. */
  knows(shape: Shape): boolean {
    return [...symbolsOfShape(shape).keys()].every((name) => this.#find(name) !== undefined);
  }

  /** Defines a symbol by a value, int64 of shape [1]. */
  bind(name: string, value: OnnxValue): void {
    this.#sources.set(name, value);
  }

  #find(name: string): Source | OnnxValue | undefined {
    const own = this.#sources.get(name);
    if (own !== undefined || this.#outer === null || !this.#shown.has(name)) return own;
    return this.#outer.#find(name);
  }

  /** The outermost enclosing program in which these sizes are the same. */
  homeOf(shape: Shape): Sizes {
    const isOuter = (name: string): boolean => this.#shown.has(name) && !this.#sources.has(name);
    const isSame = [...symbolsOfShape(shape).keys()].every(isOuter);
    return isSame && this.#outer !== null ? this.#outer.homeOf(shape) : this;
  }

  /** Writes the nodes that compute a size, int64 of shape [1]. */
  write(onnx: OnnxWriter, dim: Dim): OnnxValue {
    const node = (type: string, a: OnnxValue, b: OnnxValue): OnnxValue => onnx.node(type, [a, b]);
    return fold<OnnxValue>(dim, {
      constant: (value) => onnx.ints([value]),
      symbol: (name) => this.#symbol(onnx, name),
      add: (a, b) => node('Add', a, b),
      mul: (a, b) => node('Mul', a, b),
      operation: (kind, a, b) => {
        if (kind === 'max') return node('Max', a, b);
        if (kind === 'min') return node('Min', a, b);
        const rest = node('Mod', a, b);
        // Div truncates; subtracting the remainder, which has the divisor's sign, first makes it exact.
        return kind === 'mod' ? rest : node('Div', node('Sub', a, rest), b);
      },
    });
  }

  #symbol(onnx: OnnxWriter, name: string): OnnxValue {
    const source = this.#find(name);
    if (source === undefined) throw new InternalError(`the size ${name} is not known anywhere`);
    if (!('axis' in source)) return source;
    const { value, axis, coefficient, offset } = source;
    const extent = onnx.node('Shape', [value], { start: axis, end: axis + 1 }, 'int64');
    const multiple = offset === 0 ? extent : onnx.node('Sub', [extent, onnx.ints([offset])]);
    return coefficient === 1 ? multiple : onnx.node('Div', [multiple, onnx.ints([coefficient])]);
  }
}
