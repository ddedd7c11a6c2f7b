// Cases of an operator: its samples with sizes, dtypes and elements; all of it from a seed.
import { furtherSamples } from './samples.mjs';
import { edges, floats, generator, given, integers, isFloat, ordinary, pools } from './values.mjs';

const allDTypes = [...floats, ...integers, 'bool'];

const isArray = (value) => value?.kind === 'array';

/** The arrays among a sample's arguments, lists included, in order. */
export function arraysOf(args) {
  return args.flatMap((arg) => (isArray(arg) ? [arg] : Array.isArray(arg) ? arraysOf(arg) : []));
}

/** Families whose operators square and multiply what they are given. */
const composites = new Set(['reduction', 'contraction', 'normalization', 'indexing', 'dynamic']);

/** Elements of other kinds than the sample's would be no positions, sizes or states any more. */
const sameKind = new Set(['indexing', 'dynamic', 'random']);

/** Whether an array may have another dtype than the sample's. */
function varies(family, array) {
  if (isFloat(array.dtype)) return true;
  return array.dtype !== 'bool' && !sameKind.has(family);
}

/** The dtypes to call a sample in, each as a function from the sample's dtypes. */
function dtypesOf({ family }, args, isFirst) {
  const arrays = arraysOf(args);
  const floating = arrays.filter(({ dtype }) => isFloat(dtype));
  const movable = arrays.filter((array) => varies(family, array));
  const asIs = { label: [...new Set(arrays.map(({ dtype }) => dtype))].join(' '), of: (array) => array.dtype };
  if (arrays.length === 0 || family === 'random') return [asIs];
  const to = (dtype, among) => ({ label: dtype, of: (array) => (among.includes(array) ? dtype : array.dtype) });
  if (floating.length > 0) {
    const dtypes = isFirst || family === 'elementwise' ? allDTypes : floats;
    return dtypes.map((dtype) => to(dtype, isFloat(dtype) ? floating : movable.length > 0 ? movable : floating));
  }
  if (movable.length > 0) return [asIs, ...[...integers, 'bool'].map((dtype) => to(dtype, movable))];
  // Positions, sizes and counts come in every integer dtype.
  const whole = arrays.filter(({ dtype }) => dtype !== 'bool');
  return whole.length === 0 ? [asIs] : [asIs, ...integers.map((dtype) => to(dtype, whole))];
} // prettier-ignore

/** Sizes of named extents: some that differ, ones, and nothing. */
const sizings = {
  some: (name) => 2 + ((name.codePointAt(0) * 7) % 4),
  one: () => 1,
  none: () => 0,
};

function shapesOf(sample, arrays, sizing) {
  return arrays.map(({ shape }) =>
    shape.map((extent) =>
      typeof extent === 'number' ? extent : Math.max(sample.least?.[extent] ?? 0, sizings[sizing](extent)),
    ),
  );
} // prettier-ignore

const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);

/** Elements by variant; null where the variant says nothing about such arrays. */
const fillings = {
  plain: (array, dtype, random) => () => ordinary(array, dtype, random),
  ...Object.fromEntries(
    Object.entries(pools).map(([name, pool]) => [
      name,
      (array, dtype, random, length, family) =>
        name === 'tiny' && !isFloat(dtype) ? null : () => pool(dtype, random, composites.has(family)),
    ]),
  ),
  nan: (array, dtype, random, length) => special(array, dtype, random, length, [NaN]),
  infinite: (array, dtype, random, length) => special(array, dtype, random, length, [Infinity, -Infinity, Infinity]),
}; // prettier-ignore

function special(array, dtype, random, length, specials) {
  if (!isFloat(dtype)) return null;
  const places = new Map(specials.map((value) => [Math.floor(random() * length), value]));
  return (i) => places.get(i) ?? ordinary(array, dtype, random);
}

/** The dtypes of samples beyond the declaration's: what an index is computed from does not depend on them. */
const furtherDTypes = new Set(['float32', 'bfloat16', 'int32', 'bool']);

/** Whether a sample says more than its arrays: other options have other edges. */
const hasOptions = ({ args }) => args.some((arg) => !isArray(arg));

/** PyTorch counts up from a negative operand of `polygamma`, one by one: from huge ones for ever. */
const withinReach = (name, element) =>
  name === 'polygamma' && element < -1000 ? -element : element;

/** Which variants say something about a family. */
const variantsOf = (family) =>
  ['random', 'control'].includes(family) ? [] : ['ties', 'huge', 'tiny', 'nan', 'infinite', ...(family === 'elementwise' ? [] : ['any'])]; // prettier-ignore

/** Views that an operand may be of another array; what the array itself holds is in `views.mjs`. */
export const viewNames = ['transposed', 'sliced'];

/**
 * The cases of an operator. A case has `args`, where `{ $: k }` stands for `arrays[k]`: dtype, shape and a
 * list of elements; `order` says how often it is differentiated.
 */
export function casesOf(declaration, { seed, samples: draws }) {
  const { name, family, gradient } = declaration;
  const cases = [];
  const own = declaration.samples.map((sample) => ({ sample, isOwn: true }));
  const further = furtherSamples(declaration).map((sample) => ({ sample, isOwn: false }));
  const isDifferentiable = gradient !== 'none';

  const push = (sample, label, shapes, dtypes, elementsOf, more = {}) => {
    const arrays = arraysOf(sample.args);
    const random = generator(`${seed} ${name} ${label}`);
    const made = arrays.map((array, k) => {
      const length = sizeOf(shapes[k]);
      const next = elementsOf(array, dtypes[k], random, length);
      if (next === null) return null;
      const elements = Array.from({ length }, (_, i) => withinReach(name, next(i)));
      return { dtype: dtypes[k], shape: shapes[k], elements };
    });
    if (made.includes(null)) return;
    let count = 0;
    const place = (arg) => (isArray(arg) ? { $: count++ } : Array.isArray(arg) ? arg.map(place) : arg);
    const order = isDifferentiable && made.some(({ dtype }) => isFloat(dtype)) ? (more.order ?? 1) : 0;
    cases.push({ id: cases.length, label, args: sample.args.map(place), arrays: made, seed: label, ...more, order });
  };

  const filled = (variant) => (array, dtype, random, length) => {
    if (array.values !== undefined) return (i) => given(array.values[i % array.values.length], dtype);
    const isData = isFloat(array.dtype) || varies(family, array);
    return fillings[isData ? variant : 'plain'](array, dtype, random, length, family);
  };

  [...own, ...further].forEach(({ sample, isOwn }, s) => {
    const arrays = arraysOf(sample.args);
    const some = shapesOf(sample, arrays, 'some');
    const title = (dtype, ...words) => [`sample ${s}`, dtype, ...words].join(', ');
    for (const { label, of } of dtypesOf(declaration, sample.args, isOwn && s === 0)) {
      const dtypes = arrays.map(of);
      const float = dtypes.some(isFloat);
      if (!isOwn && !furtherDTypes.has(label)) continue;
      for (let draw = 0; draw < (arrays.length === 0 ? 1 : draws); draw++) {
        const order = ['float32', 'float64'].includes(label) && sample.differentiable !== false && isOwn ? 2 : 1;
        push(sample, title(label, 'plain', ...(draw === 0 ? [] : [`draw ${draw}`])), some, dtypes, filled('plain'), { order });
      }
      if (label === 'float32' || (label === 'int32' && isOwn)) {
        for (const sizing of ['one', 'none']) {
          const sized = shapesOf(sample, arrays, sizing);
          if (JSON.stringify(sized) !== JSON.stringify(some)) push(sample, title(label, sizing), sized, dtypes, filled('plain'));
        }
        for (const view of viewNames) push(sample, title(label, view), some, dtypes, filled('plain'), { view });
      }
      if (!isOwn || arrays.length === 0) continue;
      for (const variant of variantsOf(family)) {
        if (!float && !['ties', 'huge'].includes(variant)) continue;
        push(sample, title(label, variant), some, dtypes, filled(variant));
      }
    }
    if (family === 'elementwise' && (isOwn || hasOptions(sample))) pushEdges(sample, title, arrays, dtypesOf(declaration, sample.args, true));
  });
  if (family === 'elementwise') pushMixed();
  return cases;

  /** Every edge beside every edge, and numbers of any magnitude. */
  function pushEdges(sample, title, arrays, dtypings) {
    if (arrays.length === 0 || arrays.some(({ values }) => values !== undefined)) return;
    for (const { label, of } of dtypings) {
      const dtypes = arrays.map(of);
      const lists = dtypes.map(edges);
      const pairs = lists.length > 1 ? lists[0].length * lists[1].length : lists[0].length;
      const length = Math.min(pairs, 1600) + 120;
      const shapes = arrays.map(() => [length]);
      push(sample, title(label, 'edges'), shapes, dtypes, (array, dtype, random) => {
        const k = arrays.indexOf(array);
        const period = k === 0 ? 1 : lists[0].length;
        return (i) =>
          i < pairs && k < 2 ? lists[k][Math.floor(i / period) % lists[k].length] : pools.any(dtype, random);
      });
    }
  }

  /** Operands of different dtypes: what they are promoted to. */
  function pushMixed() {
    const sample = own.map(({ sample: each }) => each).find(({ args }) => arraysOf(args).length > 1);
    if (sample === undefined) return;
    const arrays = arraysOf(sample.args);
    const random = generator(`${seed} ${name} mixed`);
    const pairs = allDTypes.flatMap((a) => allDTypes.filter((b) => b !== a).map((b) => [a, b]));
    const count = name === 'add' ? pairs.length : 12;
    for (const [a, b] of pairs.toSorted(() => random() - 0.5).slice(0, count)) {
      const dtypes = arrays.map((array, k) => (array.dtype === 'bool' ? 'bool' : k === arrays.length - 1 ? b : a));
      push(sample, `mixed, ${[...new Set(dtypes)].join(' ')}`, shapesOf(sample, arrays, 'some'), dtypes, filled('plain'), { order: 1 });
    }
  }
} // prettier-ignore
