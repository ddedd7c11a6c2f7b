import { GraphError } from '../../src/base/errors.js';
import { flattenTree } from '../../src/base/attributes/tree.js';
import * as kn from '../../src/index.js';
import { moveToDevice } from '../../src/front/devices/placing.js';
import { identity } from '../../src/ops/index.js';
import { dividingBackend } from './engines.js';
import { deviceName, elsewhere } from './fuzzed-device.js';
import { generator } from '../support/samples.js';
import { settings } from '../support/settings.js';
import { assertReached } from '../support/tiers.js';
import { type Outcome, outcomeOf } from './compare.js';
import { inPieces } from './pieces.js';
import { Choices } from './pool.js';
import { type FuzzProgram, withoutAssignments, withoutDeadSteps } from './program.js';
import { type Arrays, attach, type Body, forward, inMode, Reference, unrolled, withGradients, withSecondGradients } from './reference.js'; // prettier-ignore
import { type Planted, type RunOptions, World } from './run.js';

/** How a way of running differs from running step by step, in words; null where it does not. */
export type Oracle = (program: FuzzProgram, planted?: Planted) => string | null;

/** Arguments and results as users nest them; nested ones hold the first array twice. */
function nest(arrays: Arrays, { nested }: FuzzProgram): unknown {
  if (!nested || arrays.length === 0) return [...arrays];
  const [first, ...rest] = arrays;
  const half = rest.length >> 1;
  return { first, rest: [rest.slice(0, half), { more: rest.slice(half) }], again: first };
}

function unnest(tree: unknown): kn.NDArray[] {
  const isArray = (value: unknown): value is kn.NDArray => value instanceof kn.NDArray;
  const leaves = [...flattenTree(tree, isArray).leaves];
  return Array.isArray(tree) ? leaves : leaves.slice(0, -1);
}

interface Compiled {
  (args: Arrays): Arrays;
  graphFor(args: Arrays): kn.StaticGraph;
}

/**
 * The tier that captured code runs on (`KAON_FUZZ_TIER`), while what it is compared with runs step by step on
 * that of everything: a compiler called for every step would take hours.
 */
const isNative = settings.isFuzzNative;
const tried = isNative ? ({ tier: 'native' } as const) : {};
const hybridized: Capture = (fn) => kn.hybridize(fn, tried);

type Capture = (fn: (given: unknown) => unknown) => ReturnType<typeof kn.hybridize<typeof fn>>;

/** Runs graphs that have no options of their own on the tier that is tried. */
function onTriedTier<R>(run: () => R): R {
  const before = kn.config.tier;
  if (isNative) kn.config.tier = 'native';
  try {
    return run();
  } finally {
    kn.config.tier = before;
  }
}

/** A body as a captured function. */
export function compiled(
  world: World,
  body: Body,
  planted: Planted | undefined,
  capture: Capture = hybridized,
  more: Pick<RunOptions, 'around'> = {},
): Compiled {
  const { program } = world;
  const options = { ...more, ...planted };
  const captured = capture((given: unknown) => nest(body(world, unnest(given), options), program));
  const call = (args: Arrays): Arrays => {
    const results = unnest(captured(nest(args, program)));
    if (isNative) assertReached(captured.explain().traces.flatMap(({ tiers }) => tiers));
    return results;
  };
  return Object.assign(call, {
    graphFor: (args: Arrays) => captured.graphFor(nest(args, program)),
  });
}

/** Looks at the result of every so many steps, which cuts a static graph there. */
function peeking({ seed }: FuzzProgram): Pick<RunOptions, 'around'> {
  const look = kn.staticCode((x: kn.NDArray) => void x.dataSync());
  const every = 7 + (seed % 50);
  return {
    around: (step, run, _, depth) => {
      const results = run();
      if (depth === 0 && step.results[0] % every === 0 && results.length > 0) look(results[0]);
      return results;
    },
  };
}

/** A body as a static graph with side-effect code in it. */
function cutUp(world: World, body: Body, planted: Planted | undefined): Compiled {
  return compiled(world, body, planted, (fn) => kn.staticGraph(fn, tried), peeking(world.program));
}

/** A compiled function inside a body that is not. */
export function inside(call: Compiled): Body {
  return (_, args) => call(args);
}

/**
 * Several calls of one compiled function: the first, the second, which is checked against another trace,
 * and one with other values.
 */
function calls(
  reference: Body,
  build: (world: World, planted: Planted | undefined) => Body,
  { isWhole = reference === forward }: { readonly isWhole?: boolean } = {},
): Oracle {
  return (program, planted) => {
    const world = new World(program);
    const body = build(world, planted);
    const needed: FuzzProgram = { ...program, steps: withoutDeadSteps(program).steps };
    for (const [k, variant] of program.variants.entries()) {
      const live = (): Reference => new Reference(needed, reference, variant);
      let before: readonly kn.ArrayData[] = [];
      const expected = new Reference(program, reference, variant);
      const outcome = outcomeOf(() => {
        const args = world.load(variant);
        before = world.states().map((state) => state.dataSync());
        attach(world, args);
        return [...inMode(program, () => body(world, args, {})), ...world.states()];
      });
      const found = expected.compare(outcome);
      if (found !== null && !isRefusedUnread(expected, outcome, live)) return `call ${k}: ${found}`;
      // A backward pass may be refused when the call before it has done its work.
      if (outcome.kind === 'error') return isWhole ? changedState(world, before) : null;
    }
    return null;
  };
}

/**
 * True where eager code refuses what nothing reads, such as rows of a loop that do not agree in their sizes, and captured
 * code leaves it out.
 */
function isRefusedUnread(expected: Reference, outcome: Outcome, live: () => Reference): boolean {
  const isRefused = expected.outcome.kind === 'error' && outcome.kind === 'arrays';
  return isRefused && live().compare(outcome) === null;
}

/** What a refused call must have left alone. */
function changedState(world: World, before: readonly kn.ArrayData[]): string | null {
  const after = world.states().map((state) => state.dataSync());
  const isSame = after.every((data, i) => String(data) === String(before[i]));
  return isSame ? null : 'a refused call has written state';
}

/** Forward passes of a compiled function. */
const called: Oracle = calls(forward, (world, planted) =>
  inside(compiled(world, forward, planted)),
);

/** Gradients through a compiled function. */
const recorded: Oracle = calls(withGradients(forward), (world, planted) =>
  withGradients(inside(compiled(world, forward, planted))),
);

/** Forward and backward in one compiled function. */
const whole: Oracle = calls(withGradients(forward), (world, planted) =>
  inside(compiled(world, withGradients(forward), planted)),
);

/** Forward passes of a static graph in pieces; a piece that is refused comes after others are done. */
const cut: Oracle = calls(forward, (world, planted) => inside(cutUp(world, forward, planted)), {
  isWhole: false,
});

/** Gradients through a static graph in pieces. */
const cutRecorded: Oracle = calls(withGradients(forward), (world, planted) =>
  withGradients(inside(cutUp(world, forward, planted))),
);

/** Forward and backward in one static graph in pieces. */
const cutWhole: Oracle = calls(withGradients(forward), (world, planted) =>
  inside(cutUp(world, withGradients(forward), planted)),
);

/** Gradients of gradients in one compiled function. */
const second: Oracle = calls(withSecondGradients, (world, planted) =>
  inside(compiled(world, withSecondGradients, planted)),
);

/** Gradients through functions that keep everything, nothing, or what the compiler chooses for them. */
const kept: Oracle = (program, planted) => {
  for (const save of ['all', 'none', 'auto'] as const) {
    const capture: Capture = (fn) => kn.hybridize(fn, { save, ...tried });
    const oracle = calls(withGradients(forward), (world) =>
      withGradients(inside(compiled(world, forward, planted, capture))),
    );
    const found = oracle(program, planted);
    if (found !== null) return `save ${save}: ${found}`;
  }
  return null;
};

/** Loops and branches by hand against the functions of the library, both step by step, with gradients. */
const unrolledOracle: Oracle = (program, planted) => {
  const body = withGradients(forward);
  return calls(unrolled(body), () => (world, args, options) => body(world, args, { ...options, ...planted }))(program); // prettier-ignore
};

/** Other sizes with each call, until they are symbols, and then sizes that no trace has seen. */
const sizes: Oracle = (program, planted) => {
  const world = new World(program);
  const call = compiled(world, forward, planted);
  for (const size of program.sizes) {
    const found = new Reference(program, forward, 0, size).compare(
      outcomeOf(() => {
        const args = world.load(0, size);
        return inMode(program, () => call(args));
      }),
    );
    if (found !== null) return `n = ${size.n}, m = ${size.m}: ${found}`;
  }
  return null;
};

/** What a compiled function runs, written down as text and read again. */
const saved: Oracle = (program, planted) => {
  const world = new World(program);
  const expected = new Reference(program, forward);
  return expected.compare(
    outcomeOf(() => {
      const args = world.load(0);
      const graph = inMode(program, () => compiled(world, forward, planted).graphFor(args));
      return unnestOutputs(runLoaded(graph, args), program);
    }),
    { states: false },
  );
};

/** A graph's outputs in the order in which a compiled function nests them. */
function unnestOutputs(results: readonly kn.NDArray[], { nested }: FuzzProgram): Arrays {
  return nested && results.length > 0 ? results.slice(0, -1) : results;
}

function runLoaded(graph: kn.StaticGraph, args: Arrays): kn.NDArray[] {
  const loaded = kn.StaticGraph.fromJSON(JSON.stringify(graph.toJSON()));
  const feeds = Object.fromEntries(loaded.inputNames.map((name, i) => [name, args[i]]));
  const results = onTriedTier(() => loaded.run(feeds));
  return loaded.outputNames.map((name) => results[name]);
}

/** The outputs, deferred. */
function lazyOutputs(world: World, args: Arrays, planted: Planted = {}): Arrays {
  return inMode(world.program, () => kn.deferredCompute(() => forward(world, args, planted)));
}

/** The same from deferred compute: every array from outside is an input by name. */
const exported: Oracle = (given, planted) => {
  const program = withoutAssignments(given);
  const world = new World(program);
  return new Reference(program, forward).compare(
    outcomeOf(() => {
      const args = world.load(0);
      const outputs = lazyOutputs(world, args, planted);
      const inputs = Object.fromEntries([...world.bind(args)].map(([id, array]) => [`v${id}`, array])); // prettier-ignore
      const named = Object.fromEntries(outputs.map((output, i) => [`y${i}`, output]));
      const graph = exportConnected(inputs, named);
      // Deferred code has drawn its numbers already; the graph draws its own.
      kn.random.seed(program.seed);
      return runLoaded(graph, graph.inputNames.map((name) => inputs[name])); // prettier-ignore
    }),
    { states: false },
  );
};

/** Exports with those inputs that the outputs depend on; the others are refused one by one. */
function exportConnected(
  inputs: Readonly<Record<string, kn.NDArray>>,
  outputs: Readonly<Record<string, kn.NDArray>>,
): kn.StaticGraph {
  try {
    return kn.exportGraph({ inputs, outputs });
  } catch (error) {
    const name = error instanceof GraphError && /input (v\d+) (?:was used|is connected)/.exec(error.message)?.[1]; // prettier-ignore
    if (typeof name !== 'string') throw error;
    const { [name]: _, ...rest } = inputs;
    return exportConnected(rest, outputs);
  }
}

const waysToRead: readonly ((lazy: kn.NDArray) => void)[] = [
  (lazy) => lazy.dataSync(),
  (lazy) => kn.compute(lazy),
  (lazy) => identity(lazy).dataSync(),
];

/** Lazy arrays, read in any order, some of them twice, some by operators outside. */
const deferred: Oracle = (given, planted) => {
  const program = withoutAssignments(given);
  const world = new World(program);
  return new Reference(program, forward).compare(
    outcomeOf(() => {
      const args = world.load(0);
      const outputs = lazyOutputs(world, args, planted);
      const choices = new Choices(generator(program.seed));
      for (const output of choices.shuffled(outputs)) {
        onTriedTier(() => choices.pick(waysToRead)(output));
      }
      return outputs;
    }),
    { states: false },
  );
};

/** A compiled function on another device, which answers at once. */
const onDevice: Oracle = calls(forward, (world, planted) => {
  const call = compiled(world, forward, planted);
  for (const array of world.outside.values()) moveToDevice(array, deviceName());
  return inside(Object.assign((args: Arrays) => call(elsewhere(args)), call));
});

/** Gradients of a compiled function there. */
const onDeviceWhole: Oracle = calls(withGradients(forward), (world, planted) => {
  const call = compiled(world, withGradients(forward), planted);
  for (const array of world.outside.values()) moveToDevice(array, deviceName());
  return inside(Object.assign((args: Arrays) => call(elsewhere(args)), call));
});

/** A program in pieces, on this device and another in turn. */
const onTwoDevices: Oracle = (program, planted) =>
  calls(forward, (world) => inPieces(world, hybridized, planted))(withoutAssignments(program));

/** A function whose calls are divided at random between this library and an engine. */
const divided =
  (reference: Body): Oracle =>
  (program, planted) => {
    const backend = dividingBackend(program.seed);
    const capture: Capture = (fn) => kn.hybridize(fn, { backend, ...tried });
    const oracle = calls(reference, (world) =>
      inside(compiled(world, reference, planted, capture)),
    );
    return oracle(program, planted);
  };

export type OracleName =
  | 'onDevice'
  | 'onDeviceWhole'
  | 'onTwoDevices'
  | 'divided'
  | 'dividedWhole'
  | 'called'
  | 'sizes'
  | 'saved'
  | 'exported'
  | 'deferred'
  | 'recorded'
  | 'whole'
  | 'second'
  | 'cut'
  | 'cutRecorded'
  | 'cutWhole'
  | 'kept'
  | 'unrolled';

const oracles: Readonly<Record<OracleName, Oracle>> = {
  called,
  sizes,
  saved,
  exported,
  deferred,
  recorded,
  whole,
  second,
  cut,
  cutRecorded,
  cutWhole,
  kept,
  unrolled: unrolledOracle,
  onDevice,
  onDeviceWhole,
  onTwoDevices,
  divided: divided(forward),
  dividedWhole: divided(withGradients(forward)),
};

/** The difference that an oracle finds; a failure of our own is one, too. */
export function differenceIn(
  oracle: OracleName,
  program: FuzzProgram,
  planted?: Planted,
): string | null {
  try {
    const found = oracles[oracle](program, planted);
    if (found === null && kn.autograd.isRecording()) return 'a recording was left open';
    return found;
  } catch (error) {
    return `crash: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  }
}
