import type { DType } from '../../base/dtype.js';
import { checkOptions, flag, type OptionRules } from '../../base/attributes/options.js';
import type { NDArray } from '../../front/core/ndarray.js';
import { extentsOf } from '../../front/dispatch/traced-shape.js';
import { turnedProduct } from '../../ops/index.js';
import { HybridBlock } from '../block.js';
import { type Initializer, xavier } from '../initializer.js';
import { Parameter } from '../parameter.js';
import { type Activation, activationFunction } from './activation.js';
import { checkInput } from '../input.js';
import { activation, checkSize, floatDType, initializer, inputSize } from './options.js';

/** Options of `Dense`. */
export interface DenseOptions {
  /** Applied to the result. Default none. */
  readonly activation?: Activation | null;
  /** Default true. */
  readonly useBias?: boolean;
  /** Flatten all axes but the first. Default false: the last axis is multiplied. */
  readonly flatten?: boolean;
  /** The size of the input; by default taken from the first call. */
  readonly inputs?: number;
  /** Of the parameters. Default float32. */
  readonly dtype?: DType;
  /** Default `xavier`. */
  readonly weightInit?: Initializer;
}

const rules: OptionRules<DenseOptions> = {
  activation,
  useBias: flag,
  flatten: flag,
  inputs: inputSize,
  dtype: floatDType,
  weightInit: initializer,
};

/** A linear layer: `x W' + b`, (..., inputs) to (..., units). */
export class Dense extends HybridBlock {
  readonly units: number;
  /** (units, inputs). */
  weight: Parameter;
  /** (units); null without one. */
  bias: Parameter | null;
  readonly #activation: ((x: NDArray) => NDArray) | null;
  readonly #flatten: boolean;

  constructor(units: number, options: DenseOptions = {}) {
    super();
    checkSize('Dense', 'units', units);
    checkOptions('Dense', options, rules);
    this.units = units;
    const dtype = options.dtype ?? 'float32';
    this.weight = new Parameter({
      shape: [units, options.inputs ?? null],
      init: options.weightInit ?? xavier,
      dtype,
    });
    this.bias = (options.useBias ?? true) ? new Parameter({ shape: [units], dtype }) : null;
    this.#activation = activationFunction(options.activation);
    this.#flatten = options.flatten ?? false;
  }

  override inferShape(x: NDArray): void {
    checkInput(this, 'x', x);
    const inputs = this.#flatten ? x.shape.slice(1).reduce((a, b) => a * b, 1) : x.shape.at(-1)!;
    this.weight.resolveShape([this.units, inputs]);
  }

  override forward(x: NDArray): NDArray {
    checkInput(this, 'x', x);
    const weight = this.weight.value;
    const rows = this.#flatten ? x.reshape([extentsOf(x)[0], weight.shape[1]]) : x;
    const product = turnedProduct(rows, weight, { left: false, right: true });
    const sum = this.bias === null ? product : product.add(this.bias.value);
    return this.#activation === null ? sum : this.#activation(sum);
  }
}
