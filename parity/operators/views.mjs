// Operands that are views of other arrays: what the other array holds, and the calls that make the view.

/** The elements of a row-major array at an index, as an offset. */
const offsetOf = (index, shape) => index.reduce((offset, i, axis) => offset * shape[axis] + i, 0);

function* indicesOf(shape) {
  const size = shape.reduce((a, b) => a * b, 1);
  for (let k = 0; k < size; k++) {
    let rest = k;
    yield [...shape].reverse().map((extent) => {
      const i = rest % extent;
      rest = (rest - i) / extent;
      return i;
    }).reverse();
  }
} // prettier-ignore

const views = {
  /** All axes in reverse order, the first of them backwards. */
  transposed: {
    shape: (shape) => [...shape].reverse(),
    place: (index, shape) => index.map((i, axis) => (axis === 0 ? shape[0] - 1 - i : i)).reverse(),
    make: (array) => {
      const turned = array.transpose();
      return array.ndim === 0 ? turned : turned.slice([null, null, -1]);
    },
  },
  /** Every other row, from the second one on, of which the last is beyond. */
  sliced: {
    shape: (shape) => shape.map((extent, axis) => (axis === 0 ? 2 * extent + 1 : extent)),
    place: (index) => index.map((i, axis) => (axis === 0 ? 2 * i + 1 : i)),
    make: (array) => (array.ndim === 0 ? array : array.slice([1, null, 2])),
  },
};

/** The array whose view the given one is. */
export function baseOf(view, { dtype, shape, elements }) {
  const { shape: shapeOf, place } = views[view];
  const outer = shapeOf(shape);
  const filler = dtype === 'bool' ? true : ['uint8', 'int8', 'int32', 'int64'].includes(dtype) ? 99n : 99; // prettier-ignore
  const all = Array(outer.reduce((a, b) => a * b, 1)).fill(filler);
  let k = 0;
  for (const index of indicesOf(shape)) all[offsetOf(place(index, shape), outer)] = elements[k++];
  return { dtype, shape: outer, elements: all };
}

export const viewOf = (view, array) => views[view].make(array);
