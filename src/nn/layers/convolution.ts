import type { DType } from '../../base/dtype.js';
import type { NDArray } from '../../front/ndarray.js';
import { conv1d, conv2d, conv3d, convTranspose2d } from '../../ops/index.js';
import { HybridBlock } from '../block.js';
import { type Initializer, xavier } from '../initializer.js';
import { Parameter } from '../parameter.js';
import { type Activation, activationFunction } from './activation.js';
import { checkInput } from '../input.js';

/** One number for every spatial axis, or one for each. */
export type Extents = number | readonly number[];

/** The geometry of a convolution, and what its parameters are. */
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
  /** Channels of the input; else taken from the first call. */
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

/** What all convolution layers share. Layout is (batch, channels, ...space). */
abstract class Convolution<O extends ConvolutionOptions> extends HybridBlock {
  readonly channels: number;
  weight: Parameter;
  bias: Parameter | null;
  readonly #rank: number;
  readonly #groups: number;
  readonly #convolve: Convolve;
  readonly #geometry: object;
  readonly #activation: ((x: NDArray) => NDArray) | null;

  constructor(channels: number, kernelSize: Extents, options: O, rank: number, convolve: Convolve) {
    super();
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

/**
 * Convolution from (batch, inputs, width) to (batch, channels, width'). `weight` is
 * (channels, inputs / groups, kernel).
 */
export class Conv1d extends ForwardConvolution {
  constructor(channels: number, kernelSize: Extents, options: ConvolutionOptions = {}) {
    super(channels, kernelSize, options, 1, conv1d);
  }
}

/**
 * Convolution from (batch, inputs, height, width) to (batch, channels, height', width'). `weight` is
 * (channels, inputs / groups, ...kernel).
 */
export class Conv2d extends ForwardConvolution {
  constructor(channels: number, kernelSize: Extents, options: ConvolutionOptions = {}) {
    super(channels, kernelSize, options, 2, conv2d);
  }
}

/**
 * Convolution from (batch, inputs, depth, height, width) to (batch, channels, depth', height', width').
 * `weight` is (channels, inputs / groups, ...kernel).
 */
export class Conv3d extends ForwardConvolution {
  constructor(channels: number, kernelSize: Extents, options: ConvolutionOptions = {}) {
    super(channels, kernelSize, options, 3, conv3d);
  }
}

/** What `ConvTranspose2d` takes besides what convolutions do. */
export interface ConvTransposeOptions extends ConvolutionOptions {
  /** Rows and columns added at the end of the result. Default 0. */
  readonly outputPadding?: Extents;
}

/** The adjoint of `Conv2d`, which enlarges: (batch, inputs, h, w) to (batch, channels, h', w'). */
export class ConvTranspose2d extends Convolution<ConvTransposeOptions> {
  constructor(channels: number, kernelSize: Extents, options: ConvTransposeOptions = {}) {
    super(channels, kernelSize, options, 2, convTranspose2d);
  }

  protected override weightShape(
    inputs: number | null,
    groups: number,
  ): readonly [number | null, number] {
    return [inputs, this.channels / groups];
  }
}
