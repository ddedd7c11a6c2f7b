// Finds how the dtypes of an operator's results follow from those of its operands, by asking its own inference.

/** Rules from one dtype to another that have names in `result-dtypes.ts`. */
const unaryRules = {
  FloatOf: (dtype, { isFloat }) => (isFloat(dtype) ? dtype : 'float32'),
  SumOf: (dtype, { isFloat }) => (isFloat(dtype) ? dtype : 'int64'),
};

export const tableNames = Object.keys(unaryRules);

/** What a table of this name gives for every dtype. */
export function tableOf(name, library) {
  return library.dtypes.map((dtype) => [dtype, unaryRules[name](dtype, library)]);
}

/** Calls of functions that are made of operators, and have no samples of their own. */
const helperShapes = {
  dot: [[3], [3]],
  outer: [[3], [2]],
  tensordot: [[2, 3], [3, 2], 1],
}; // prettier-ignore

const isSampleArray = (value) => value?.kind === 'array';

/** The arguments of calls to ask: what the operator's samples say, with arrays as sample arrays. */
function callsOf(name, fn) {
  if (fn.declaration !== undefined) {
    return fn.declaration.samples.map(({ args }) => args);
  }
  const shapes = helperShapes[name];
  if (shapes === undefined)
    throw new Error(
      `${name} has neither samples nor a call to try: give it one in helperShapes (scripts/operators/dtypes.mjs)`,
    );
  return [
    shapes.map((shape) =>
      Array.isArray(shape) ? { kind: 'array', shape, dtype: 'float32' } : shape,
    ),
  ];
}

/** Every row of dtypes for `count` operands. */
function* rows(dtypes, count) {
  if (count === 0) return yield [];
  for (const first of dtypes) for (const rest of rows(dtypes, count - 1)) yield [first, ...rest];
}

/** No more operands than these are varied independently. */
const mostVaried = 3;

/**
 * A rule for each result: `{ dtype }`, `{ of: [parameter, ...], table? }` for the common dtype of these parameters,
 * or `{ isFloat }` where the types cannot say more.
 */
export function rulesOf(name, given, operandParameters, library) {
  // A function for one number of spatial axes has the results of the operator for any number.
  const fn = given.general ?? given;
  const slotsOf = (args) =>
    operandParameters.flatMap(({ at, rest }) =>
      (rest ? args.slice(at) : [args[at]].flat(9)).flatMap((value) => {
        if (isSampleArray(value)) return [{ at, fixed: null }];
        return typeof value === 'number' ? [{ at, fixed: kindOfNumber(value) }] : [];
      }),
    );
  const varied = (args) => slotsOf(args).filter(({ fixed }) => fixed === null).length;
  const args = callsOf(name, fn).reduce((best, each) =>
    varied(each) > varied(best) ? each : best,
  );
  const slots = slotsOf(args);
  const count = varied(args);
  const observed = [];
  for (const row of rows(library.dtypes, Math.min(count, mostVaried))) {
    // Operands that are not varied on their own follow the last one that is.
    const dtypes = Array.from({ length: count }, (_, i) => row[Math.min(i, row.length - 1)]);
    const results = resultsOf(fn, args, dtypes, library);
    const left = [...dtypes];
    const kinds = slots.map(({ fixed }) => fixed ?? left.shift());
    if (results !== undefined) observed.push({ kinds, results });
  }
  if (observed.length === 0) throw new Error(`${name}: no call of its samples has results`);
  const owners = slots.map(({ at }) => at);
  return observed[0].results.map((_, k) => {
    const cases = observed.map(({ kinds, results }) => ({ kinds, result: results[k] }));
    return ruleOf(cases, owners, count > mostVaried, library);
  });
}

const kindOfNumber = (value) => (Number.isInteger(value) ? 'weak-int' : 'weak-float');

function ruleOf(cases, owners, isPartial, library) {
  const { promoteAll, isFloat } = library;
  if (cases.every(({ result }) => result === cases[0].result)) return { dtype: cases[0].result };
  const parameters = [...new Set(owners)];
  const subsets = [
    ...parameters.map((at) => [at]),
    ...(isPartial ? [] : pairs(parameters)),
    ...(isPartial ? [] : [parameters]),
  ];
  const tables = [['same', (dtype) => dtype], ...Object.entries(unaryRules)];
  for (const of of subsets) {
    const common = (kinds) => promoteAll(kinds.filter((_, i) => of.includes(owners[i])));
    for (const [table, rule] of tables) {
      if (cases.every(({ kinds, result }) => rule(common(kinds), library) === result))
        return { of, ...(table === 'same' ? {} : { table }) };
    }
  }
  return { isFloat: cases.every(({ result }) => isFloat(result)) };
}

const pairs = (list) => list.flatMap((a, i) => list.slice(i + 1).map((b) => [a, b]));

/** The dtypes of the results of a call; undefined where the operator refuses these operands. */
function resultsOf(fn, args, dtypes, { Program, Value, symbol, KaonError }) {
  const program = new Program();
  let count = 0;
  const place = (value) => {
    if (Array.isArray(value)) return value.map(place);
    if (!isSampleArray(value)) return value;
    const shape = value.shape.map((extent) =>
      typeof extent === 'number' ? extent : symbol(extent, { min: 1 }),
    );
    const dtype = dtypes[count];
    return program.variable(`x${count++}`, { dtype, shape });
  };
  let result;
  try {
    result = fn(...args.map(place));
  } catch (error) {
    if (error instanceof KaonError) return undefined;
    throw error;
  }
  const values = result instanceof Value ? [result] : Object.values(result);
  return values.map(({ type }) => type.dtype);
}
