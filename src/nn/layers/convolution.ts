import type { DType } from '../../base/dtype.js';
import { ArgumentError } from '../../base/errors.js';
import {
  checkArgument,
  checkOptions,
  eitherRule,
  flag,
  oneOfValues,
  type OptionRules,
} from '../../base/attributes/options.js';
import type { NDArray } from '../../front/core/ndarray.js';
import { conv1d, conv2d, conv3d, convTranspose2d } from '../../ops/index.js';
import { HybridBlock } from '../block.js';
import { type Initializer, xavier } from '../initializer.js';
import { Parameter } from '../parameter.js';
import { type Activation, activationFunction } from './activation.js';
import { checkInput } from '../input.js';
import {
  activation as activationRule,
  checkSize,
  count,
  extentsRule,
  floatDType,
  initializer,
  inputSize,
} from './options.js';

/** One number for every spatial axis, or one for each. */
export type Extents = number | readonly number[];

/** Options of convolution layers: geometry and parameters. */
export interface ConvolutionOptions {
  /** Default 1. */
  readonly strides?: Extents;
  /** Zeros on both sides of each spatial axis, or `same` / `valid`. Default 0. */
  readonly padding?: Extents | 'same' | 'valid';
  /** Default 1. */
  readonly dilation?: Extents;
  /** Default 1. */
  readonly groups?: number;
  /** Default true. */
  readonly useBias?: boolean;
  /** Applied to the result. Default none. */
  readonly activation?: Activation | null;
  /** Channels of the input; by default taken from the first call. */
  readonly inputs?: number;
  /** Of the parameters. Default float32. */
  readonly dtype?: DType;
  /** Default `xavier`. */
  readonly weightInit?: Initializer;
}

type Convolve = (x: NDArray, weight: NDArray, options: object) => NDArray;

function extents(value: Extents, rank: number): readonly number[] {
  return typeof value === 'number' ? Array.from({ length: rank }, () => value) : value;
}

/** Rules of the options that all convolution layers take. */
function rulesFor(axes: number): OptionRules<ConvolutionOptions> {
  return {
    strides: extentsRule(axes, 1),
    padding: eitherRule(oneOfValues('same', 'valid'), extentsRule(axes, 0)),
    dilation: extentsRule(axes, 1),
    groups: count,
    useBias: flag,
    activation: activationRule,
    inputs: inputSize,
    dtype: floatDType,
    weightInit: initializer,
  };
}

/** Refuses channels that the number of groups does not divide. */
function checkDivides(
  op: string,
  name: string,
  channels: number | undefined,
  groups: number,
): void {
  if (channels === undefined || channels % groups === 0) return;
  throw new ArgumentError(`the groups do not divide ${name}`, {
    op,
    expected: `a multiple of ${groups}`,
    actual: String(channels),
  });
}

/** Properties of a kind of convolution layer besides its options. */
interface ConvolutionKind<O> {
  readonly op: string;
  readonly axes: number;
  readonly convolve: Convolve;
  readonly rules: OptionRules<O>;
}

/** Base class of convolution layers. Layout is (batch, channels, ...space). */
abstract class Convolution<O extends ConvolutionOptions> extends HybridBlock {
  readonly channels: number;
  weight: Parameter;
  bias: Parameter | null;
  readonly #rank: number;
  readonly #groups: number;
  readonly #convolve: Convolve;
  readonly #geometry: object;
  readonly #activation: ((x: NDArray) => NDArray) | null;

  constructor(
    channels: number,
    kernelSize: Extents,
    options: O,
    { op, axes: rank, convolve, rules }: ConvolutionKind<O>,
  ) {
    super();
    checkSize(op, 'channels', channels);
    checkArgument(op, 'kernelSize', kernelSize, extentsRule(rank, 1));
    checkOptions(op, options, rules);
    checkDivides(op, 'channels', channels, options.groups ?? 1);
    checkDivides(op, 'inputs', options.inputs, options.groups ?? 1);
    this.channels = channels;
    this.#rank = rank;
    this.#convolve = convolve;
    const {
      activation,
      useBias = true,
      inputs,
      dtype = 'float32',
      weightInit = xavier,
      ...geometry
    } = options;
    this.#geometry = geometry;
    this.#groups = options.groups ?? 1;
    this.#activation = activationFunction(activation);
    const shape = this.weightShape(inputs ?? null, this.#groups);
    this.weight = new Parameter({
      shape: [...shape, ...extents(kernelSize, rank)],
      init: weightInit,
      dtype,
    });
    this.bias = useBias ? new Parameter({ shape: [channels], dtype }) : null;
  }

  /** The first two extents of the weight. */
  protected abstract weightShape(
    inputs: number | null,
    groups: number,
  ): readonly [number | null, number | null];

  override inferShape(x: NDArray): void {
    checkInput(this, 'x', x);
    const [first, second] = this.weightShape(x.shape[1], this.#groups);
    this.weight.resolveShape([
      first!,
      second!,
      ...(this.weight.shape.slice(2) as readonly number[]),
    ]);
  }

  override forward(x: NDArray): NDArray {
    checkInput(this, 'x', x);
    const y = this.#convolve(x, this.weight.value, this.#geometry);
    const ones = extents(1, this.#rank);
    const sum = this.bias === null ? y : y.add(this.bias.value.reshape([this.channels, ...ones]));
    return this.#activation === null ? sum : this.#activation(sum);
  }
}

abstract class ForwardConvolution extends Convolution<ConvolutionOptions> {
  protected override weightShape(
    inputs: number | null,
    groups: number,
  ): readonly [number, number | null] {
    return [this.channels, inputs === null ? null : inputs / groups];
  }
}

const forwardKind = (
  op: string,
  axes: number,
  convolve: Convolve,
): ConvolutionKind<ConvolutionOptions> => ({ op, axes, convolve, rules: rulesFor(axes) });

const kinds = {
  Conv1d: forwardKind('Conv1d', 1, conv1d),
  Conv2d: forwardKind('Conv2d', 2, conv2d),
  Conv3d: forwardKind('Conv3d', 3, conv3d),
};

/**
 * Convolution from (batch, inputs, width) to (batch, channels, width'). `weight` is
 * (channels, inputs / groups, kernel).
 */
export class Conv1d extends ForwardConvolution {
  constructor(channels: number, kernelSize: Extents, options: ConvolutionOptions = {}) {
    super(channels, kernelSize, options, kinds.Conv1d);
  }
}

/**
 * Convolution from (batch, inputs, height, width) to (batch, channels, height', width'). `weight` is
 * (channels, inputs / groups, ...kernel).
 */
export class Conv2d extends ForwardConvolution {
  constructor(channels: number, kernelSize: Extents, options: ConvolutionOptions = {}) {
    super(channels, kernelSize, options, kinds.Conv2d);
  }
}

/**
 * Convolution from (batch, inputs, depth, height, width) to (batch, channels, depth', height', width').
 * `weight` is (channels, inputs / groups, ...kernel).
 */
export class Conv3d extends ForwardConvolution {
  constructor(channels: number, kernelSize: Extents, options: ConvolutionOptions = {}) {
    super(channels, kernelSize, options, kinds.Conv3d);
  }
}

/** Options of `ConvTranspose2d`. */
export interface ConvTransposeOptions extends ConvolutionOptions {
  /** Rows and columns added at the end of the result. Default 0. */
  readonly outputPadding?: Extents;
}

const transposed: ConvolutionKind<ConvTransposeOptions> = {
  op: 'ConvTranspose2d',
  axes: 2,
  convolve: convTranspose2d,
  rules: { ...rulesFor(2), outputPadding: extentsRule(2, 0) },
};

/** Transposed convolution, the adjoint of `Conv2d`: (batch, inputs, h, w) to (batch, channels, h', w'). */
export class ConvTranspose2d extends Convolution<ConvTransposeOptions> {
  constructor(channels: number, kernelSize: Extents, options: ConvTransposeOptions = {}) {
    super(channels, kernelSize, options, transposed);
  }

  protected override weightShape(
    inputs: number | null,
    groups: number,
  ): readonly [number | null, number] {
    return [inputs, this.channels / groups];
  }
}
