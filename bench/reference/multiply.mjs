/** The product of two matrices, m by k and k by n, each perhaps given transposed, in float64. */
export function multiply(a, b, m, k, n, { transposeA = false, transposeB = false } = {}) {
  const c = new Float64Array(m * n);
  for (let i = 0; i < m; i++) {
    for (let p = 0; p < k; p++) {
      const x = transposeA ? a[p * m + i] : a[i * k + p];
      for (let j = 0; j < n; j++) c[i * n + j] += x * (transposeB ? b[j * k + p] : b[p * n + j]);
    }
  }
  return c;
}
