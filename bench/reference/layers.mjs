// Layers with their gradients, in plain float64 loops: what steps of training must agree with. A layer gives its output
// `y` and `back(dy)`, which gives the gradients by its inputs, in their order.
import { convolve } from './convolution.mjs';
import { softmax } from './memory.mjs';
import { multiply } from './multiply.mjs';
import { sumsOf } from './reductions.mjs';

export const add = (x, y) => x.map((value, i) => value + y[i]);

/** Rows of x (rows, inputs) times w (inputs, units), plus b. */
export function dense(x, w, b) {
  const units = b.length;
  const inputs = w.length / units;
  const rows = x.length / inputs;
  return {
    y: multiply(x, w, rows, inputs, units).map((value, i) => value + b[i % units]),
    back: (dy) => [
      multiply(dy, w, rows, units, inputs, { transposeB: true }),
      multiply(x, dy, inputs, rows, units, { transposeA: true }),
      sumsOf(dy, units, 0),
    ],
  };
}

export const relu = (x) => ({
  y: x.map((value) => Math.max(0, value)),
  back: (dy) => [dy.map((value, i) => (x[i] > 0 ? value : 0))],
});

/** Rows of as many numbers as gamma has. */
export function layerNorm(x, gamma, beta) {
  const width = gamma.length;
  const [y, normal] = [new Float64Array(x.length), new Float64Array(x.length)];
  const scales = new Float64Array(x.length / width);
  for (const row of scales.keys()) {
    const numbers = x.subarray(row * width, (row + 1) * width);
    const mean = numbers.reduce((sum, value) => sum + value, 0) / width;
    const variance = numbers.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width;
    scales[row] = 1 / Math.sqrt(variance + 1e-5);
    for (let i = 0, at = row * width; i < width; i++, at++) {
      normal[at] = (numbers[i] - mean) * scales[row];
      y[at] = normal[at] * gamma[i] + beta[i];
    }
  }
  const back = (dy) => {
    const dx = dy.map((value, i) => value * gamma[i % width]);
    for (const [row, scale] of scales.entries()) {
      const [from, to] = [row * width, (row + 1) * width];
      let [sum, along] = [0, 0];
      for (let at = from; at < to; at++) {
        sum += dx[at] / width;
        along += (dx[at] * normal[at]) / width;
      }
      for (let at = from; at < to; at++) dx[at] = (dx[at] - sum - normal[at] * along) * scale;
    }
    const byGamma = dy.map((value, i) => value * normal[i]);
    return [dx, sumsOf(byGamma, width, 0), sumsOf(dy, width, 0)];
  };
  return { y, back };
}

/**
 * Attention of each position to itself and earlier ones, for q, k and v of shape (batch, time, heads * size): head by
 * head softmax(q k^T / sqrt(size)) v.
 */
export function causalAttention(q, k, v, { batch, time, heads, width }) {
  const size = width / heads;
  const root = Math.sqrt(size);
  /** What `act(places)` does for each head, where `places` lists the beginnings of its rows. */
  const everyHead = (act) => {
    for (let image = 0; image < batch; image++) {
      for (let head = 0; head < heads; head++) {
        act(
          Array.from({ length: time }, (_, t) => (image * time + t) * width + head * size),
          image * heads + head,
        );
      }
    }
  };
  const read = (x, places) => {
    const part = new Float64Array(time * size);
    places.forEach((from, t) => part.set(x.subarray(from, from + size), t * size));
    return part;
  };
  const write = (x, places, part) =>
    places.forEach((to, t) => x.set(part.subarray(t * size, (t + 1) * size), to));
  const y = new Float64Array(q.length);
  const kept = [];
  everyHead((places, at) => {
    const scores = multiply(read(q, places), read(k, places), time, size, time, {
      transposeB: true,
    });
    const masked = scores.map((score, i) => (i % time > i / time ? -Infinity : score / root));
    kept[at] = softmax(masked, time);
    write(y, places, multiply(kept[at], read(v, places), time, time, size));
  });
  const back = (dy) => {
    const [dq, dk, dv] = [q, k, v].map(({ length }) => new Float64Array(length));
    everyHead((places, at) => {
      const [part, weights] = [read(dy, places), kept[at]];
      write(dv, places, multiply(weights, part, time, time, size, { transposeA: true }));
      const ds = multiply(part, read(v, places), time, size, time, { transposeB: true });
      for (let from = 0; from < ds.length; from += time) {
        let along = 0;
        for (let j = from; j < from + time; j++) along += ds[j] * weights[j];
        for (let j = from; j < from + time; j++) ds[j] = (weights[j] * (ds[j] - along)) / root;
      }
      write(dq, places, multiply(ds, read(k, places), time, time, size));
      write(dk, places, multiply(ds, read(q, places), time, time, size, { transposeA: true }));
    });
    return [dq, dk, dv];
  };
  return { y, back };
}

/** Convolution by 3x3 with a row of zeros around, plus a number for each channel; sizes as for `convolve`. */
export function convolution(x, w, b, sizes) {
  const { batch, inputs, outputs, side } = sizes;
  const plane = side * side;
  const channel = (i) => Math.floor(i / plane) % outputs;
  const back = (dy) => {
    // Backward it is the convolution with the kernels turned around, from outputs to inputs.
    const turned = new Float64Array(w.length);
    w.forEach((value, i) => {
      const [pair, tap] = [Math.floor(i / 9), i % 9];
      const [o, c] = [Math.floor(pair / inputs), pair % inputs];
      turned[(c * outputs + o) * 9 + 8 - tap] = value;
    });
    const dw = new Float64Array(w.length);
    for (let image = 0; image < batch; image++) {
      for (let pair = 0; pair < outputs * inputs; pair++) {
        const [o, c] = [Math.floor(pair / inputs), pair % inputs];
        const from = (image * inputs + c) * plane;
        addTaps(dw, pair * 9, x, from, dy, (image * outputs + o) * plane, side);
      }
    }
    const db = new Float64Array(outputs);
    dy.forEach((value, i) => (db[channel(i)] += value));
    return [convolve(dy, turned, { ...sizes, inputs: outputs, outputs: inputs }), dw, db];
  };
  return { y: convolve(x, w, sizes).map((value, i) => value + b[channel(i)]), back };
}

/** Adds to nine weights what each has of a plane of gradients. */
function addTaps(dw, at, x, from, dy, to, side) {
  for (let tap = 0; tap < 9; tap++) {
    const [ky, kx] = [Math.floor(tap / 3) - 1, (tap % 3) - 1];
    let sum = 0;
    for (let row = Math.max(0, -ky); row < Math.min(side, side - ky); row++) {
      const [source, target] = [from + (row + ky) * side + kx, to + row * side];
      const last = Math.min(side, side - kx);
      for (let column = Math.max(0, -kx); column < last; column++) {
        sum += x[source + column] * dy[target + column];
      }
    }
    dw[at + tap] += sum;
  }
}

/** The greatest of each 2x2 of planes of `side` by `side`. */
export function maxPool(x, side) {
  const half = side / 2;
  const chosen = Array.from({ length: x.length / 4 }, (_, i) => {
    const [plane, row, column] = [
      Math.floor(i / half / half),
      Math.floor(i / half) % half,
      i % half,
    ];
    const corner = plane * side * side + 2 * row * side + 2 * column;
    const window = [corner, corner + 1, corner + side, corner + side + 1];
    return window.reduce((best, at) => (x[at] > x[best] ? at : best));
  });
  const back = (dy) => {
    const dx = new Float64Array(x.length);
    chosen.forEach((at, i) => (dx[at] += dy[i]));
    return [dx];
  };
  return { y: Float64Array.from(chosen, (at) => x[at]), back };
}
