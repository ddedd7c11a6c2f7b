import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFloat } from '../../src/base/dtype.js';
import { flattenTree, unflattenTree } from '../../src/base/attributes/tree.js';
import * as kn from '../../src/index.js';
import { near } from '../front/support.js';

/*
 * The two sides of the contract: a scenario is written once, as imperative code, and runs in every form
 * that the library has for it. Each form is a subtest, so a failure names the line and the form.
 */

const { autograd } = kn;

export type Arrays = Readonly<Record<string, kn.NDArray>>;

export type Code<I extends Arrays> = (inputs: I) => unknown;

export interface Scenario<I extends Arrays> {
  /** Fresh arrays with the same elements at every call; `n` is a size that scenarios may use. */
  readonly inputs: (n: number) => I;
  /** What a user would write. Every input must be used, and nothing from outside. */
  readonly code: Code<I>;
  /** What mathematics says: nested numbers in the place of arrays. */
  readonly gives?: unknown;
  /** What mathematics says the gradients of the sum of all float results are, by input. */
  readonly gradients?: Readonly<Record<string, unknown>>;
  /** Whether the code runs in training mode. Default false. */
  readonly training?: boolean;
  /** Names for the axes that may have other sizes. */
  readonly axes?: Readonly<Record<string, readonly (string | null)[]>>;
  /** Sums of products may be taken in another order when sizes are unknown. Default false. */
  readonly isContraction?: boolean;
}

/** The size that results are compared at. */
export const usualSize = 3;

interface Form {
  readonly name: string;
  /** The code in this form, ready to be called several times; `sample` are arguments to capture with. */
  make<I extends Arrays>(scenario: Scenario<I>, sample: I): Code<I>;
}

const isArray = (value: unknown): value is kn.NDArray => value instanceof kn.NDArray;

/** The exported graph as code: names are put on the arrays of the result, and taken off again. */
function asExported<I extends Arrays>(
  { code }: Scenario<I>,
  sample: I,
  prepare: (graph: kn.StaticGraph) => kn.StaticGraph,
  meanwhile: (arrays: readonly kn.NDArray[]) => void = () => undefined,
): Code<I> {
  const { leaves, structure } = flattenTree(
    kn.deferredCompute(() => code(sample)),
    isArray,
  );
  meanwhile(leaves);
  const outputs = Object.fromEntries(leaves.map((array, i) => [`y${i}`, array]));
  const graph = prepare(kn.exportGraph({ inputs: sample, outputs }));
  return (inputs) => {
    const results = graph.run(inputs);
    return unflattenTree(
      structure,
      leaves.map((_, i) => results[`y${i}`]),
    );
  };
}

const reloaded = (graph: kn.StaticGraph): kn.StaticGraph =>
  kn.StaticGraph.fromJSON(JSON.stringify(graph.toJSON()));

const compute = (arrays: readonly kn.NDArray[]): void => kn.compute(...arrays);

/** The code with bare arrays as arguments, whose axes may then be named one by one. */
function withSymbols<I extends Arrays>({ code, axes }: Scenario<I>, sample: I): Code<I> {
  const names = Object.keys(sample);
  const hybrid = kn.hybridize(
    (...arrays: kn.NDArray[]) =>
      code(Object.fromEntries(names.map((name, i) => [name, arrays[i]])) as I),
    { dynamic: names.map((name) => axes?.[name] ?? null) },
  );
  return (inputs) => hybrid(...names.map((name) => inputs[name]));
}

export const forms: readonly Form[] = [
  { name: 'eager', make: ({ code }) => code },
  {
    name: 'recorded',
    make:
      ({ code, training = false }) =>
      (inputs) =>
        autograd.record(() => code(inputs), { trainMode: training }),
  },
  {
    name: 'deferred, then read',
    make:
      ({ code }) =>
      (inputs) =>
        kn.deferredCompute(() => code(inputs)),
  },
  {
    name: 'deferred, then computed all at once',
    make:
      ({ code }) =>
      (inputs) => {
        const result = kn.deferredCompute(() => code(inputs));
        compute(flattenTree(result, isArray).leaves);
        return result;
      },
  },
  { name: 'exported', make: (scenario, sample) => asExported(scenario, sample, (graph) => graph) },
  {
    name: 'read, then exported',
    make: (scenario, sample) => asExported(scenario, sample, (graph) => graph, compute),
  },
  {
    name: 'exported, saved and loaded',
    make: (scenario, sample) => asExported(scenario, sample, reloaded),
  },
  { name: 'hybridized', make: ({ code }) => kn.hybridize(code) },
  {
    name: 'hybridized, always verified',
    make: ({ code }) => kn.hybridize(code, { verify: 'always' }),
  },
  {
    name: 'hybridized and recorded',
    make: ({ code, training = false }) => {
      const hybrid = kn.hybridize(code);
      return (inputs) => autograd.record(() => hybrid(inputs), { trainMode: training });
    },
  },
  {
    name: 'hybridized with symbolic sizes',
    make: withSymbols,
  },
  {
    name: 'hybridized after sizes kept changing',
    make: ({ code, inputs }) => {
      const hybrid = kn.hybridize(code);
      for (const n of [1, 5, 2, 4]) hybrid(inputs(n));
      return hybrid;
    },
  },
  {
    name: 'hybridized inside of another',
    make: ({ code }) => {
      const hybrid = kn.hybridize(code);
      return kn.hybridize((inputs) => hybrid(inputs));
    },
  },
  {
    name: 'hybridized inside of deferredCompute',
    make: ({ code }) => {
      const hybrid = kn.hybridize(code);
      return (inputs) => kn.deferredCompute(() => hybrid(inputs));
    },
  },
];

/** An array as something to compare: sign of zero, NaN and dtype included. */
function contents(tree: unknown): unknown {
  if (isArray(tree)) return { dtype: tree.dtype, shape: tree.shape, data: [...tree.dataSync()] };
  if (Array.isArray(tree)) return tree.map(contents);
  if (typeof tree !== 'object' || tree === null) return tree;
  return Object.entries(tree).map(([key, entry]) => [key, contents(entry)]);
}

/** The arrays of a result as lists. */
export function lists(tree: unknown): unknown {
  if (isArray(tree)) return tree.tolist();
  if (Array.isArray(tree)) return tree.map(lists);
  if (typeof tree !== 'object' || tree === null) return tree;
  return Object.fromEntries(Object.entries(tree).map(([key, entry]) => [key, lists(entry)]));
}

/** Numbers near each other; everything else equal. */
function alike(actual: unknown, expected: unknown, tolerance: number): void {
  const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null;
  if (typeof expected === 'number' && typeof actual === 'number') near(actual, expected, tolerance);
  else if (isNested(actual) && isNested(expected)) {
    assert.deepEqual(Object.keys(actual), Object.keys(expected));
    for (const [key, entry] of Object.entries(expected)) {
      alike((actual as Record<string, unknown>)[key], entry, tolerance);
    }
  } else assert.deepEqual(actual, expected);
}

/** Three calls from one seed: what each gave, and where the random generator stands in the end. */
function threeCalls<I extends Arrays>(
  { inputs, training = false }: Scenario<I>,
  run: Code<I>,
): unknown {
  kn.random.seed(20);
  const results = [1, 2, 3].map(() => {
    const given = inputs(usualSize);
    return contents(training ? autograd.trainMode(() => run(given)) : run(given));
  });
  return { results, state: String(kn.random.getState().counter) };
}

/** The gradients of the sum of a result's floats, each array with a weight of its own. */
function gradientsOf<I extends Arrays>(
  { inputs, training = false }: Scenario<I>,
  run: Code<I>,
  weightOf: (index: number) => number,
): Record<string, unknown> {
  kn.random.seed(21);
  const given = inputs(usualSize);
  const floats = Object.entries(given).filter(([, { dtype }]) => isFloat(dtype));
  for (const [, array] of floats) array.attachGrad();
  const loss = autograd.record(
    () =>
      flattenTree(run(given), isArray)
        .leaves.filter(({ dtype }) => isFloat(dtype))
        .map((array, i) => array.mul(weightOf(i)).sum())
        .reduce((a, b) => a.add(b)),
    { trainMode: training },
  );
  loss.backward();
  return Object.fromEntries(floats.map(([name, { grad }]) => [name, grad!.tolist()]));
}

function make<I extends Arrays>(form: Form, scenario: Scenario<I>): Code<I> {
  const sample = scenario.inputs(usualSize);
  const { training = false } = scenario;
  return training
    ? autograd.trainMode(() => form.make(scenario, sample))
    : form.make(scenario, sample);
}

/** A check of the code in every form; `run` makes the form anew. */
export function eachForm<I extends Arrays>(
  line: string,
  scenario: Scenario<I>,
  check: (run: () => Code<I>, form: string) => void,
): void {
  void test(line, async (t) => {
    for (const form of forms) {
      await t.test(form.name, () => check(() => make(form, scenario), form.name));
    }
  });
}

/** A line of the contract that must hold for `scenario` in every form, values bit for bit. */
export function inEveryForm<I extends Arrays>(line: string, scenario: Scenario<I>): void {
  const { code, inputs, gives, isContraction = false } = scenario;
  let eager: unknown;
  eachForm(line, scenario, (run, form) => {
    eager ??= threeCalls(scenario, code);
    const actual = threeCalls(scenario, run());
    if (isContraction && form.includes('sizes')) alike(actual, eager, 1e-6);
    else assert.deepEqual(actual, eager);
    if (gives !== undefined) alike(lists(run()(inputs(usualSize))), gives, 1e-6);
  });
}

/** The same, and the gradients of all inputs of floats. */
export function inEveryFormWithGradients<I extends Arrays>(
  line: string,
  scenario: Scenario<I>,
): void {
  inEveryForm(line, scenario);
  const weightOf = (i: number): number => 1 + i / 4;
  let eager: unknown;
  eachForm(`${line} (gradients)`, scenario, (run) => {
    eager ??= gradientsOf(scenario, scenario.code, weightOf);
    const code = run();
    for (let call = 0; call < 3; call++) {
      alike(gradientsOf(scenario, code, weightOf), eager, 1e-6);
    }
    if (scenario.gradients === undefined) return;
    const sum = (): number => 1;
    alike(gradientsOf(scenario, code, sum), scenario.gradients, 1e-6);
  });
}
