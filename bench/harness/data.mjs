/** Pseudo-random normal-ish numbers, the same for every contestant; never zeros. */
export function randomData(length, seed = 1, scale = 1) {
  const data = new Float32Array(length);
  let state = seed >>> 0 || 1;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  for (let i = 0; i < length; i++) data[i] = (next() + next() + next() - 1.5) * 1.15 * scale;
  return data;
}

/** An input of a case: numbers and their shape. */
export function input(shape, seed, scale) {
  const length = shape.reduce((product, size) => product * size, 1);
  return { shape, data: randomData(length, seed, scale) };
}
