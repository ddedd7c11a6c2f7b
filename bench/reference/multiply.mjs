/** The product of two matrices, m by k and k by n, each perhaps given transposed, in float64. */
export function multiply(a, b, m, k, n, { transposeA = false, transposeB = false } = {}) {
  const left = transposeA ? transposed(a, k, m) : a;
  const right = transposeB ? transposed(b, n, k) : b;
  const c = new Float64Array(m * n);
  if (n === 1) {
    for (let i = 0; i < m; i++) c[i] = dot(left, i * k, right, k);
    return c;
  }
  for (let i = 0; i < m; i++) {
    const row = c.subarray(i * n, (i + 1) * n);
    let p = 0;
    // Four at a time, since most of the time goes to reading and writing the row.
    for (; p + 4 <= k; p += 4) {
      const at = i * k + p;
      addRows(row, right, p * n, left[at], left[at + 1], left[at + 2], left[at + 3]);
    }
    for (; p < k; p++) addRow(row, right, p * n, left[i * k + p]);
  }
  return c;
}

function dot(a, at, b, length) {
  let sum = 0;
  for (let p = 0; p < length; p++) sum += a[at + p] * b[p];
  return sum;
}

function addRow(row, b, at, x) {
  for (let j = 0; j < row.length; j++) row[j] += x * b[at + j];
}

function addRows(row, b, at, x0, x1, x2, x3) {
  const n = row.length;
  for (let j = 0, p = at; j < n; j++, p++) {
    row[j] += x0 * b[p] + x1 * b[p + n] + x2 * b[p + 2 * n] + x3 * b[p + 3 * n];
  }
}

/** A matrix of so many rows and columns, the other way round. */
function transposed(matrix, rows, columns) {
  const other = new Float64Array(matrix.length);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) other[j * rows + i] = matrix[i * columns + j];
  }
  return other;
}
