import { type HostArray, isFloat } from '../../src/base/dtype.js';
import { isCapturing } from '../../src/front/core/capture.js';
import type { NDArray } from '../../src/index.js';
import * as kn from '../../src/index.js';
import { type Declaration, type Invoke, installFrontend } from '../../src/ops/declare/declare.js';
import { generator } from '../support/samples.js';
import { isInexact } from './facts.js';
import type { FuzzProgram, Step } from './program.js';
import type { RunOptions } from './run.js';
import { sumsIn } from './sums.js';

/*
 * How far apart two right answers may be. A sum in any order is the exact sum of operands that are each a
 * few roundings off (backward stability), so a run in which every operand of a sum, a product or the like
 * is disturbed by that much moves each result about as far as another order of summation could. What the
 * rest of the program makes of it, cancellation included, is in the disturbed results themselves.
 *
 * Roundings may all go one way: of equal operands, each partial sum rounds as the one before did. So every
 * other run disturbs all elements of an operand alike, which does not average out.
 */

/** Roundings by which an operand is disturbed; sums here have at most some hundred terms. */
const roundings = 8;

export class Noise {
  readonly #random: () => number;
  readonly #isAlike: boolean;
  /** Additions that the compiler may do in an order of its own. */
  readonly #sums: ReadonlySet<Step>;

  /** The noise of one run of several; their numbers are `run`. */
  constructor(program: FuzzProgram, run: number) {
    this.#random = generator(program.seed * 5 + run);
    this.#isAlike = run % 2 === 1;
    this.#sums = sumsIn(program);
  }

  /** For the steps of a program: disturbs what those read whose order may change. */
  readonly around: RunOptions['around'] = (step, run, operands) => {
    // The body of a loop that does not run is only traced: there is nothing to disturb.
    if (isCapturing()) return run();
    if (step.regions !== undefined) return reached(run(), operands);
    if (!isInexact(step.op) && !this.#sums.has(step)) return run();
    const results = this.#disturbed(operands, run);
    for (const result of results) this.#nudge(result);
    return results;
  };

  /** For backward passes, which add up gradients in an order of their own. */
  during<R>(fn: () => R): R {
    const original: { invoke: Invoke | null } = { invoke: null };
    const noisy: Invoke = (declaration, call) => {
      const run = (): readonly NDArray[] => original.invoke!(declaration, call) as NDArray[];
      const arrays = call.inputs.filter((input): input is NDArray => isNDArray(input));
      const { name } = declaration;
      const isDisturbed = name === 'add' || name === 'cast' || isInexact(name);
      if (!isDisturbed || isCapturing()) return run();
      const results = this.#disturbed(arrays, run);
      if (!isView(declaration)) for (const result of results) this.#nudge(result);
      return results;
    };
    original.invoke = installFrontend(noisy);
    try {
      return fn();
    } finally {
      installFrontend(original.invoke);
    }
  }

  /** Runs with operands that are a little off, and puts them back. */
  #disturbed<R>(operands: readonly NDArray[], run: () => R): R {
    const floats = [...new Set(operands)].filter(({ dtype }) => isFloat(dtype));
    const homes = [...new Set(floats.map(({ storage }) => storage.host))];
    const kept = homes.map((home) => home.slice());
    for (const array of floats) this.#disturb(array.storage.host, array.dtype);
    try {
      return run();
    } finally {
      homes.forEach((home, i) => (home as Float32Array).set(kept[i] as Float32Array));
    }
  }

  #disturb(home: HostArray, dtype: string): void {
    const isDouble = dtype === 'float64';
    const alike = this.#random() < 0.5 ? -1 : 1;
    for (let i = 0; i < home.length; i++) {
      if (home instanceof Uint16Array) home[i] = this.#neighbor(home[i], dtype === 'float16');
      else {
        const step = roundings * (isDouble ? 2 ** -53 : 2 ** -24);
        const part = this.#isAlike ? alike : 2 * this.#random() - 1;
        home[i] = Number(home[i]) * (1 + step * part);
      }
    }
  }

  /** The 16-bit floats are rounded once more where a fused kernel might round once less. */
  #nudge({ dtype, storage: { host } }: NDArray): void {
    if (!(host instanceof Uint16Array)) return;
    for (let i = 0; i < host.length; i++) host[i] = this.#neighbor(host[i], dtype === 'float16');
  }

  /** The same bits, or those of the next float up or down. */
  #neighbor(bits: number, isHalf: boolean): number {
    const magnitude = bits & 0x7fff;
    const infinite = isHalf ? 0x7c00 : 0x7f80;
    if (magnitude === 0 || magnitude >= infinite - 1) return bits;
    return bits + Math.floor(this.#random() * 3) - 1;
  }
}

/**
 * The results of a loop or a branch with gradients for all that it ends with and reads, be they zeros:
 * captured code starts from these where nothing else gets there, and where they meet an infinite slope that
 * makes a NaN (decision 23).
 */
function reached(results: readonly NDArray[], operands: readonly NDArray[]): readonly NDArray[] {
  if (!kn.autograd.isRecording()) return results;
  const zero = [...results, ...operands]
    .filter(({ dtype }) => isFloat(dtype))
    .map((each) => kn.where(kn.isFinite(each), each, 0).mul(0).sum().astype('float32'))
    .reduce((total, part) => total.add(part), kn.zeros([]));
  return results.map((result) =>
    isFloat(result.dtype) ? result.add(zero.astype(result.dtype)) : result,
  );
}

function isView({ lowering }: Declaration): boolean {
  return lowering.kind === 'view';
}

function isNDArray(input: unknown): boolean {
  return typeof input === 'object' && input !== null && 'storage' in input;
}
