// Work that memory bounds, in plain float64 loops.
import { multiply } from './multiply.mjs';

/** Along rows of `width`. */
export function softmax(x, width) {
  const y = Float64Array.from(x);
  for (let at = 0; at < y.length; at += width) {
    const row = y.subarray(at, at + width);
    const top = row.reduce((most, value) => Math.max(most, value), -Infinity);
    let total = 0;
    for (let i = 0; i < width; i++) total += row[i] = Math.exp(row[i] - top);
    for (let i = 0; i < width; i++) row[i] /= total;
  }
  return y;
}

/** Along rows of as many numbers as gamma has. */
export function layerNorm(x, gamma, beta) {
  const width = gamma.length;
  const y = Float64Array.from(x);
  for (let at = 0; at < y.length; at += width) {
    const row = y.subarray(at, at + width);
    const mean = row.reduce((sum, value) => sum + value, 0) / width;
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width;
    const scale = 1 / Math.sqrt(variance + 1e-5);
    for (let i = 0; i < width; i++) row[i] = (row[i] - mean) * scale * gamma[i] + beta[i];
  }
  return y;
}

/** softmax(q k^T / sqrt(size)) v for each head of (heads, length, size). */
export function attention(q, k, v, { heads, length, size }) {
  const y = new Float64Array(heads * length * size);
  for (let head = 0; head < heads; head++) {
    const [hq, hk, hv] = [q, k, v].map((x) =>
      x.subarray(head * length * size, (head + 1) * length * size),
    );
    const scores = multiply(hq, hk, length, size, length, { transposeB: true });
    const weights = softmax(
      scores.map((score) => score / Math.sqrt(size)),
      length,
    );
    y.set(multiply(weights, hv, length, length, size), head * length * size);
  }
  return y;
}

/** The mean over rows of the cross-entropy with the labeled column, and its gradient. */
export function crossEntropy(x, labels, width) {
  const grad = softmax(x, width);
  let loss = 0;
  for (let row = 0; row < labels.length; row++) {
    const at = row * width + labels[row];
    loss -= Math.log(grad[at]);
    grad[at] -= 1;
  }
  return { loss: loss / labels.length, grad: grad.map((value) => value / labels.length) };
}
