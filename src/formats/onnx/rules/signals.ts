import { type Dim, isStatic, maxDim, subDim } from '../../../base/dim/index.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode } from '../node.js';
import { floats, integers, TensorOperand } from '../operand.js';
import { elementFor } from '../tensor.js';
import { rule, type ImportRules } from './rule.js';

/** Size limit of constants that are computed at import. */
const longest = 2 ** 24;

interface Complex {
  readonly real: Value;
  /** Null for real signals. */
  readonly imaginary: Value | null;
}

/** Matrices of the cosines and sines of the angles between positions and frequencies. */
function waves(
  node: ImportedNode,
  rows: Dim,
  columns: Dim,
  length: Dim,
  dtype: Value['type']['dtype'],
): { cos: Value; sin: Value } {
  const products = ops.mul(
    ops.reshape(node.iota(rows), [rows, 1]),
    ops.reshape(node.iota(columns), [1, columns]),
  );
  // Whole turns are removed in integers, without rounding.
  const turns = ops.mod(products, ops.dimLike(products, length));
  const exact = ops.cast(turns, 'float64');
  const angles = ops.div(ops.mul(exact, 2 * Math.PI), ops.dimLike(exact, length));
  return { cos: ops.cast(ops.cos(angles), dtype), sin: ops.cast(ops.sin(angles), dtype) };
}

/** Discrete Fourier transform over the last axis; `count` frequencies of `length` positions. */
function transformed(
  node: ImportedNode,
  { real, imaginary }: Complex,
  length: Dim,
  count: Dim,
  isInverse: boolean,
): { real: Value; imaginary: Value } {
  const { cos, sin } = waves(node, length, count, length, real.type.dtype);
  // exp(-i a) = cos a - i sin a; the inverse has the other sign.
  const signed = isInverse ? sin : ops.neg(sin);
  const part = (x: Value, matrix: Value): Value => ops.matmul(x, matrix);
  let [re, im] = [part(real, cos), part(real, signed)];
  if (imaginary !== null) {
    re = ops.sub(re, part(imaginary, signed));
    im = ops.add(im, part(imaginary, cos));
  }
  if (!isInverse) return { real: re, imaginary: im };
  const size = ops.dimLike(re, length);
  return { real: ops.div(re, size), imaginary: ops.div(im, size) };
}

/** The last axis holds real and imaginary parts, or only real ones. */
function parts(x: Value): Complex {
  const last = x.type.shape.at(-1);
  return {
    real: ops.slice(x, '...', 0),
    imaginary: last === 2 ? ops.slice(x, '...', 1) : null,
  };
}

/** Truncates or zero-pads the last axis to a length. */
function ofLength(x: Value, length: Dim): Value {
  const extent = x.type.shape.at(-1)!;
  if (extent === length) return x;
  if (!isStatic(extent) || !isStatic(length)) return ops.slice(x, '...', [0, length]);
  if (length < extent) return ops.slice(x, '...', [0, length]);
  return ops.pad(x, x.type.shape.map((_, k) => [0, k === x.type.shape.length - 1 ? length - extent : 0])); // prettier-ignore
}

function half(length: Dim, node: ImportedNode): Dim {
  if (!isStatic(length)) throw node.unsupported('the length of the transform is not known');
  return Math.floor(length / 2) + 1;
}

function discreteFourier(node: ImportedNode): Value {
  const x = node.value(0);
  const rank = x.type.shape.length;
  const given =
    node.version < 20 ? node.attributes.int('axis', 1) : node.has(2) ? node.number(2) : -2;
  const axis = node.axis(given, rank);
  const isInverse = node.attributes.flag('inverse');
  const isOneSided = node.attributes.flag('onesided');
  const { real, imaginary } = parts(x);
  const moved = (part: Value): Value => ops.moveaxis(part, axis, -1);
  const extent = x.type.shape[axis];
  const wanted = node.has(1) ? node.dims(1)[0] : null;
  if (isOneSided && isInverse) {
    const length = wanted ?? (isStatic(extent) ? (extent - 1) * 2 : null);
    if (length === null || imaginary === null || !isStatic(length)) throw node.unsupported('the length of the transform is not known'); // prettier-ignore
    const whole = mirrored(node, moved(real), moved(imaginary), length);
    const back = transformed(node, whole, length, length, true);
    return ops.expandDims(ops.moveaxis(back.real, -1, axis), -1);
  }
  const length = wanted ?? extent;
  const count = isOneSided ? half(length, node) : length;
  const input = {
    real: ofLength(moved(real), length),
    imaginary: imaginary === null ? null : ofLength(moved(imaginary), length),
  };
  const found = transformed(node, input, length, count, isInverse);
  const back = (part: Value): Value => ops.moveaxis(part, -1, axis);
  return ops.stack([back(found.real), back(found.imaginary)], -1);
}

/** Restores all frequencies of a real signal from the first half. */
function mirrored(node: ImportedNode, real: Value, imaginary: Value, length: number): Complex {
  if (length > longest) throw node.refuse('the transform is too long', `at most ${longest}`, String(length)); // prettier-ignore
  const count = Math.floor(length / 2) + 1;
  const [re, im] = [ofLength(real, count), ofLength(imaginary, count)];
  const places = Array.from({ length }, (_, k) => (k < count ? k : length - k));
  const at = node.region.constant(integers(places));
  const sign = node.region.constant(floats(places.map((_, k) => (k < count ? 1 : -1))));
  const taken = (x: Value): Value => ops.take(x, at, { axis: -1, mode: 'clip' });
  return { real: taken(re), imaginary: ops.mul(taken(im), ops.cast(sign, im.type.dtype)) };
}

/** STFT: transforms of sliding windows of a signal, `[batch, length, 1 or 2]`. */
function shortTime(node: ImportedNode): Value {
  node.expectRank(0, 3);
  node.expectRank(2, 1);
  const x = node.value(0);
  const step = node.number(1);
  const window = node.optional(2);
  const length = window !== null ? window.type.shape[0] : node.number(3);
  if (!isStatic(length) || step < 1)
    throw node.unsupported('the length of the windows is not known');
  const count = node.attributes.flag('onesided', true) ? half(length, node) : length;
  const framed = (part: Value): Value => {
    const frames = ops.swapaxes(ops.slidingWindows(part, [length], { strides: [step] }), -1, -2);
    return window === null ? frames : ops.mul(frames, window);
  };
  const { real, imaginary } = parts(x);
  const input = { real: framed(real), imaginary: imaginary === null ? null : framed(imaginary) };
  const found = transformed(node, input, length, count, false);
  return ops.stack([found.real, found.imaginary], -1);
}

/** A cosine-sum window whose length is the operand. */
function cosineWindow(coefficients: readonly number[]): (node: ImportedNode) => TensorOperand {
  return (node) => {
    const size = node.size(0);
    const { carrier, name } = elementFor(node.attributes.int('output_datatype', 1), node.title);
    if (!name.includes('float') && name !== 'double')
      throw node.unsupported('windows of integers', name);
    const period = node.attributes.flag('periodic', true) ? size : subDim(size, 1);
    const turns = ops.div(ops.mul(node.iota(size, 'float64'), 2 * Math.PI), maxDim(period, 1));
    const terms = coefficients.map((coefficient, k) =>
      ops.mul(ops.cos(ops.mul(turns, k)), coefficient),
    );
    return TensorOperand.of(
      ops.cast(
        terms.reduce((a, b) => ops.add(a, b)),
        carrier,
      ),
    );
  };
}

/** MelWeightMatrix: triangular filters evenly spaced on the mel scale. */
function melWeights(node: ImportedNode): TensorOperand {
  const [bins, length, rate, lowest, highest] = [0, 1, 2, 3, 4].map((index) => node.number(index));
  const element = elementFor(node.attributes.int('output_datatype', 1), node.title);
  const count = Math.floor(length / 2) + 1;
  if (!(bins >= 0 && count >= 1 && bins <= longest && bins * count <= longest)) throw node.refuse('no matrix is as large', `at most ${longest} elements`, `${count} x ${bins}`); // prettier-ignore
  const mel = (hertz: number): number => 2595 * Math.log10(1 + hertz / 700);
  const step = (mel(highest) - mel(lowest)) / (bins + 2);
  const edges = Array.from({ length: bins + 2 }, (_, k) => {
    const hertz = 700 * (10 ** ((mel(lowest) + k * step) / 2595) - 1);
    return Math.floor(((length + 1) * hertz) / rate);
  });
  // The top of a triangle needs a row.
  const isIn = edges.every((edge, k) => edge >= 0 && edge <= (k > bins ? count : count - 1));
  if (!isIn) throw node.refuse('the frequencies are out of range');
  const data = new Float32Array(count * bins);
  for (let k = 0; k < bins; k++) {
    const [low, middle, high] = edges.slice(k, k + 3);
    if (middle === low) data[middle * bins + k] = 1;
    else for (let j = low; j <= middle; j++) data[j * bins + k] = (j - low) / (middle - low);
    for (let j = middle; j < high; j++) data[j * bins + k] = (high - j) / (high - middle);
  }
  const matrix = node.region.constant(floats(data, [count, bins]));
  return TensorOperand.of(ops.cast(matrix, element.carrier), element);
}

export const signals: ImportRules = {
  DFT: rule(discreteFourier),
  STFT: rule(shortTime),
  HannWindow: rule(cosineWindow([0.5, -0.5])),
  HammingWindow: rule(cosineWindow([25 / 46, -21 / 46])),
  BlackmanWindow: rule(cosineWindow([0.42, -0.5, 0.08])),
  MelWeightMatrix: rule(melWeights),
};
