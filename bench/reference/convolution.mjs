// Convolution and a residual block in plain float64 loops: what every contestant must agree with.

/** 3x3, stride 1, one row of zeros around: x (batch, inputs, side, side), w (outputs, inputs, 3, 3). */
export function convolve(x, w, { batch, inputs, outputs, side }) {
  const plane = side * side;
  const y = new Float64Array(batch * outputs * plane);
  for (let image = 0; image < batch; image++) {
    for (let o = 0; o < outputs; o++) {
      for (let i = 0; i < inputs; i++) {
        const from = (image * inputs + i) * plane;
        addPlane(y, (image * outputs + o) * plane, x, from, w, (o * inputs + i) * 9, side);
      }
    }
  }
  return y;
}

function addPlane(y, to, x, from, w, kernel, side) {
  for (let ky = -1; ky <= 1; ky++) {
    for (let kx = -1; kx <= 1; kx++) {
      const weight = w[kernel + (ky + 1) * 3 + kx + 1];
      const [first, last] = [Math.max(0, -kx), Math.min(side, side - kx)];
      for (let row = Math.max(0, -ky); row < Math.min(side, side - ky); row++) {
        const source = from + (row + ky) * side + kx;
        const target = to + row * side;
        for (let column = first; column < last; column++) {
          y[target + column] += weight * x[source + column];
        }
      }
    }
  }
}

/** Each channel of (batch, channels, side, side) by its own statistics, scale and shift. */
function normalize(x, { mean, variance, gamma, beta }, channels, plane) {
  return x.map((value, at) => {
    const c = Math.floor(at / plane) % channels;
    return ((value - mean[c]) / Math.sqrt(variance[c] + 1e-5)) * gamma[c] + beta[c];
  });
}

const rectify = (x) => x.map((value) => Math.max(0, value));

/** relu(x + norm2(conv2(relu(norm1(conv1(x)))))), as at inference; `norms` holds the numbers of both. */
export function residualBlock(x, weights, norms, sizes) {
  const [channels, plane] = [sizes.outputs, sizes.side ** 2];
  const inner = rectify(normalize(convolve(x, weights[0], sizes), norms[0], channels, plane));
  const outer = normalize(convolve(inner, weights[1], sizes), norms[1], channels, plane);
  return rectify(outer.map((value, at) => value + x[at]));
}
