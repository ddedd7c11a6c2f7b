import * as kn from '../../src/index.js';
import { batchNormTraining } from '../../src/ops/index.js';
import { Exact, foldOf, forEachTerm, type Kind, type Layout, termsOf } from './terms.js';

/** A right result: its elements, and the magnitudes that errors are relative to. */
export interface Reference {
  value(k: number): number;
  magnitude(k: number): number;
}

/** A result at a number of terms, and what it should be. */
export interface Problem {
  readonly inputs: readonly kn.NDArray[];
  readonly run: (...inputs: kn.NDArray[]) => kn.NDArray;
  readonly reference: () => Reference;
}

/** A row of the table. */
export interface Case {
  readonly name: string;
  /** How many roundings of the magnitude a result may be off by (decision 45); null where nothing is promised. */
  readonly bound: ((terms: number) => number) | null;
  /** Null where there is no such problem. */
  make(terms: number, kind: Kind): Problem | null;
}

/** The roundings of a sum, or of a mean. */
const sums = 16;
/** Of a sum whose additions carry what they round away (decision 45). */
const byPosition = 3;
/** Of a product: one each, and those of blocks (decision 46). */
const products = 59;
const bound =
  (roundings: number): Case['bound'] =>
  () =>
    roundings;

const layouts: Readonly<Record<string, (terms: number) => Layout>> = {
  'all': (terms) => ({ shape: [terms], axes: [0] }),
  'last axis': (terms) => ({ shape: [2, terms], axes: [1] }),
  'axis 0': (terms) => ({ shape: [terms, terms > 1e6 ? 2 : 9], axes: [0] }),
  'axes 0 and 2': (terms) => ({ shape: [terms / 50, 2, 50], axes: [0, 2] }),
}; // prettier-ignore

type Elements = (layout: Layout) => readonly [terms: Float32Array, x: kn.NDArray];

const elementsOf =
  (kind: Kind): Elements =>
  ({ shape }) => {
    const terms = termsOf(
      kind,
      shape.reduce((a, b) => a * b, 1),
    );
    return [terms, kn.array(terms, { shape: [...shape] })];
  };

/** A reference whose values are numbers that are not sums of magnitudes: errors are relative to them. */
const relative = (values: ArrayLike<number>): Reference => ({
  value: (k) => values[k],
  magnitude: (k) => Math.abs(values[k]),
});

const ofSums = (found: readonly Exact[], scale = 1): Reference => ({
  value: (k) => found[k].sum * scale,
  magnitude: (k) => found[k].magnitude * scale,
});

interface Fold {
  readonly name: string;
  readonly roundings: number | ((terms: number) => number);
  run(x: kn.NDArray, axes: readonly number[]): kn.NDArray;
  exact(terms: Float32Array, layout: Layout): Reference;
}

const countOf = ({ shape, axes }: Layout): number =>
  axes.reduce((count, axis) => count * shape[axis], 1);

/** Variances in two passes. */
function variances(terms: Float32Array, layout: Layout): number[] {
  const count = countOf(layout);
  const means = foldOf(layout, (at) => terms[at]).map(({ sum }) => sum / count);
  const squares = foldOf(layout, (at, result) => (terms[at] - means[result]) ** 2);
  return squares.map(({ sum }) => sum / count);
}

const folds: readonly Fold[] = [
  {
    name: 'sum',
    roundings: sums,
    run: (x, axes) => x.sum(axes),
    exact: (terms, layout) => ofSums(foldOf(layout, (at) => terms[at])),
  },
  {
    name: 'mean',
    roundings: sums,
    run: (x, axes) => x.mean(axes),
    exact: (terms, layout) =>
      ofSums(
        foldOf(layout, (at) => terms[at]),
        1 / countOf(layout),
      ),
  },
  {
    name: 'var',
    // Differences, squares, the sum of squares, its division.
    roundings: sums + 8,
    run: (x, axes) => kn.var(x, axes),
    exact: (terms, layout) => relative(variances(terms, layout)),
  },
  {
    name: 'std',
    roundings: 14,
    run: (x, axes) => kn.std(x, axes),
    exact: (terms, layout) => relative(variances(terms, layout).map(Math.sqrt)),
  },
  {
    name: 'norm',
    roundings: 10,
    run: (x, axes) => kn.norm(x, axes),
    exact: (terms, layout) =>
      relative(foldOf(layout, (at) => terms[at] ** 2).map(({ sum }) => Math.sqrt(sum))),
  },
  {
    name: 'logsumexp',
    roundings: sums + 4,
    run: (x, axes) => kn.logsumexp(x, axes),
    exact: (terms, layout) =>
      relative(foldOf(layout, (at) => Math.exp(terms[at])).map(({ sum }) => Math.log(sum))),
  },
];

const foldCases = folds.flatMap(({ name, roundings, run, exact }) =>
  Object.entries(layouts).map(([place, layoutOf]): Case => ({
    name: `${name}, ${place}`,
    bound: typeof roundings === 'number' ? bound(roundings) : roundings,
    make: (terms, kind) => {
      // Equal terms have no variance.
      if (kind === 'equal' && (name === 'var' || name === 'std')) return null;
      const layout = layoutOf(terms);
      const [elements, x] = elementsOf(kind)(layout);
      return {
        inputs: [x],
        run: (given) => run(given, layout.axes),
        reference: () => exact(elements, layout),
      };
    },
  })),
);

/** Where there is one result for each element; `exact` gives them all. */
function wideCase(
  name: string,
  roundings: number,
  run: (x: kn.NDArray, axis: number) => kn.NDArray,
  exact: (terms: Float32Array, layout: Layout) => Reference,
): Case[] {
  return (['last axis', 'axis 0'] as const).map((place) => ({
    name: `${name}, ${place}`,
    bound: bound(roundings),
    make: (terms, kind) => {
      const layout = layouts[place](terms);
      const [elements, x] = elementsOf(kind)(layout);
      return {
        inputs: [x],
        run: (given) => run(given, layout.axes[0]),
        reference: () => exact(elements, layout),
      };
    },
  }));
}

const scanCases: readonly Case[] = [
  ...wideCase('cumsum', 10, kn.cumsum, (terms, layout) => {
    const [values, magnitudes] = [0, 1].map(() => new Float64Array(terms.length));
    const running = new Map<number, Exact>();
    forEachTerm(layout, (result, at) => {
      if (!running.has(result)) running.set(result, new Exact());
      const sum = running.get(result)!;
      sum.add(terms[at]);
      values[at] = sum.sum;
      magnitudes[at] = sum.magnitude;
    });
    return { value: (k) => values[k], magnitude: (k) => magnitudes[k] };
  }),
  // The exponential is off by a few roundings besides, and so is the distance from the greatest.
  ...wideCase('softmax', sums + 8, kn.softmax, (terms, layout) => {
    const totals = foldOf(layout, (at) => Math.exp(terms[at]));
    const values = new Float64Array(terms.length);
    forEachTerm(layout, (result, at) => {
      values[at] = Math.exp(terms[at]) / totals[result].sum;
    });
    return relative(values);
  }),
  ...wideCase('logSoftmax', sums + 4, kn.logSoftmax, (terms, layout) => {
    const totals = foldOf(layout, (at) => Math.exp(terms[at]));
    const values = new Float64Array(terms.length);
    forEachTerm(layout, (result, at) => {
      values[at] = terms[at] - Math.log(totals[result].sum);
    });
    return relative(values);
  }),
];

/** The gradient of a broadcast operand, with the terms as head gradients. */
const gradientCases: readonly Case[] = (['axis 0', 'last axis', 'axes 0 and 2'] as const).map(
  (place) => ({
    name: `gradient of a broadcast, ${place}`,
    bound: bound(sums),
    make: (terms, kind) => {
      const layout = layouts[place](terms);
      const [elements, heads] = elementsOf(kind)(layout);
      const shape = layout.shape.map((extent, axis) => (layout.axes.includes(axis) ? 1 : extent));
      const bias = kn.ones(shape);
      const slope = kn.grad((b: kn.NDArray, g: kn.NDArray) => b.mul(g).sum(), 0);
      return {
        inputs: [bias, heads],
        run: (b, g) => slope(b, g),
        reference: () => ofSums(foldOf(layout, (at) => elements[at])),
      };
    },
  }),
);

/** Errors of what is standardized are relative to its spread, 1. */
function standardized(terms: Float32Array, layout: Layout): Reference {
  const count = countOf(layout);
  const means = foldOf(layout, (at) => terms[at]).map(({ sum }) => sum / count);
  const roots = variances(terms, layout).map(Math.sqrt);
  const values = new Float64Array(terms.length);
  forEachTerm(layout, (result, at) => {
    values[at] = (terms[at] - means[result]) / roots[result];
  });
  return { value: (k) => values[k], magnitude: (k) => Math.max(1, Math.abs(values[k])) };
}

interface Norm {
  readonly name: string;
  layout(terms: number): Layout;
  run(x: kn.NDArray, channels: kn.NDArray, zeros: kn.NDArray): kn.NDArray;
  /** How many channels there are; one for each element of a row where 0. */
  readonly channels: number;
}

const norms: readonly Norm[] = [
  {
    name: 'layerNorm, last axis',
    layout: layouts['last axis'],
    channels: 0,
    run: (x, scale, shift) => kn.layerNorm(x, scale, shift, { epsilon: 0 }),
  },
  {
    name: 'batchNorm in training, axes 0 and 2',
    layout: layouts['axes 0 and 2'],
    channels: 2,
    run: (x, scale, shift) => batchNormTraining(x, scale, shift, { epsilon: 0 }).output,
  },
  {
    name: 'groupNorm, last axes',
    layout: (terms) => ({ shape: [1, 2, terms / 50, 50], axes: [2, 3] }),
    channels: 2,
    run: (x, scale, shift) => kn.groupNorm(x, 2, scale, shift, { epsilon: 0 }),
  },
];

const normCases = norms.map(({ name, layout: layoutOf, channels, run }): Case => ({
  name,
  // A mean is off by so many roundings of about two spreads, and half a variance by as many of one.
  bound: bound(3 * sums),
  make: (terms, kind) => {
    if (kind === 'equal') return null;
    const layout = layoutOf(terms);
    const [elements, x] = elementsOf(kind)(layout);
    const length = channels === 0 ? terms : channels;
    return {
      inputs: [x, kn.ones([length]), kn.zeros([length])],
      run,
      reference: () => standardized(elements, layout),
    };
  },
}));

const otherCases: readonly Case[] = [
  {
    name: 'avgPool of all',
    bound: bound(sums + 2),
    make: (terms, kind) => {
      const layout: Layout = { shape: [1, 1, terms / 100, 100], axes: [2, 3] };
      const [elements, x] = elementsOf(kind)(layout);
      return {
        inputs: [x],
        run: (given) => kn.avgPool2d(given, [terms / 100, 100]),
        reference: () =>
          ofSums(
            foldOf(layout, (at) => elements[at]),
            1 / terms,
          ),
      };
    },
  },
  {
    name: 'mse',
    bound: bound(sums + 4),
    make: (terms, kind) => {
      const layout = layouts['all'](terms);
      const [elements, x] = elementsOf(kind)(layout);
      return {
        inputs: [x, kn.zeros([terms])],
        run: (a, b) => kn.nn.loss.mse(a, b),
        reference: () =>
          ofSums(
            foldOf(layout, (at) => elements[at] ** 2),
            1 / terms,
          ),
      };
    },
  },
  {
    name: 'prod',
    // Every product rounds what it has once more, in any order.
    bound: (terms) => terms,
    make: (terms, kind) => {
      const layout = layouts['all'](terms);
      const [elements] = elementsOf(kind)(layout);
      const factors = elements.map((term) => 1 + term / terms);
      return {
        inputs: [kn.array(factors)],
        run: (x) => x.prod(),
        reference: () => relative([Math.exp(foldOf(layout, (at) => Math.log(factors[at]))[0].sum)]),
      };
    },
  },
  {
    name: 'takeAdjoint: all in one element',
    bound: bound(byPosition),
    make: (terms, kind) => {
      const layout = layouts['all'](terms);
      const [elements, heads] = elementsOf(kind)(layout);
      const at = kn.zeros([terms], { dtype: 'int32' });
      const slope = kn.grad((table: kn.NDArray, g: kn.NDArray) => kn.take(table, at).mul(g).sum());
      return {
        inputs: [kn.ones([1]), heads],
        run: (table, g) => slope(table, g),
        reference: () => ofSums(foldOf(layout, (k) => elements[k])),
      };
    },
  },
  {
    name: 'scatterAdd: to three in turn',
    bound: bound(byPosition),
    make: (terms, kind) => {
      const layout: Layout = { shape: [3, Math.floor(terms / 3)], axes: [1] };
      const [elements, x] = elementsOf(kind)(layout);
      const [rows, columns] = layout.shape;
      const at = kn.arange(rows * columns, { dtype: 'int32' }).floorDivide(columns);
      return {
        inputs: [x.flatten()],
        run: (updates) => kn.scatterAdd(kn.zeros([rows]), at, updates),
        reference: () => ofSums(foldOf(layout, (k) => elements[k])),
      };
    },
  },
];

/** Products; their terms are those of the left operand times 1, 1/2, 1/4, ... in turn. */
const factor = (at: number): number => 2 ** -(at % 3);

const factors = (length: number, shape: readonly number[]): kn.NDArray =>
  kn.array(
    Float32Array.from({ length }, (_, at) => factor(at)),
    { shape: [...shape] },
  );

interface Product {
  readonly name: string;
  shapes(terms: number): readonly [readonly number[], readonly number[]];
  run(x: kn.NDArray, w: kn.NDArray): kn.NDArray;
}

const productsOf: readonly Product[] = [
  {
    name: 'dot',
    shapes: (terms) => [[terms], [terms]],
    run: (x, w) => kn.dot(x, w),
  },
  {
    name: 'matmul, one row',
    shapes: (terms) => [[1, terms], [terms, 1]],
    run: (x, w) => x.matmul(w),
  },
  {
    name: 'matmul, transposed twice',
    shapes: (terms) => [[terms, 1], [1, terms]],
    run: (x, w) => x.transpose().matmul(w.transpose()),
  },
  {
    name: 'conv of all channels',
    shapes: (terms) => [[1, terms / 4, 2, 2], [1, terms / 4, 2, 2]],
    run: (x, w) => kn.conv2d(x, w),
  },
]; // prettier-ignore

const productCases = productsOf.map(({ name, shapes, run }): Case => ({
  name,
  bound: bound(products),
  make: (terms, kind) => {
    const [left, right] = shapes(terms);
    const [elements, x] = elementsOf(kind)({ shape: left, axes: [] });
    return {
      inputs: [x, factors(terms, right)],
      run,
      reference: () => ofSums(foldOf(layouts['all'](terms), (at) => elements[at] * factor(at))),
    };
  },
}));

const rowsOfProducts: Case = {
  name: 'matmul, 16 rows and columns',
  bound: bound(products),
  make: (terms, kind) => {
    if (terms > 1e6) return null;
    const layout: Layout = { shape: [16, terms], axes: [1] };
    const [elements, x] = elementsOf(kind)(layout);
    return {
      inputs: [x, factors(terms * 16, [terms, 16])],
      run: (a, b) => a.matmul(b).slice([null, null], [0, 1]),
      reference: () => ofSums(foldOf(layout, (at) => elements[at] * factor((at % terms) * 16))),
    };
  },
};

/** Every fold, scan, gradient of a broadcast, and product. */
export const cases: readonly Case[] = [
  ...foldCases,
  ...scanCases,
  ...gradientCases,
  ...normCases,
  ...otherCases,
  ...productCases,
  rowsOfProducts,
];
