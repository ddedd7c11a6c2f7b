import { isFloat, kindOf } from '../../src/base/dtype.js';
import { readElement } from '../../src/base/element.js';
import type { NDArray } from '../../src/index.js';
import { flatter } from './flatten.js';
import { allSteps, type FuzzProgram, type Input, mapRefs, mapSteps, readIn, refsOf, withoutAssignments, type Argument, type Step, withoutDeadSteps } from './program.js'; // prettier-ignore
import { inMode } from './reference.js';
import { runSteps, World } from './run.js';

/** How often the predicate may be asked before the smallest program so far is good enough. */
const patience = 600;

/**
 * A program that still fails, with as little in it as can be found: fewer outputs, steps replaced by
 * inputs of what they computed or by what they read, fewer gradients, smaller sizes, plainer elements.
 */
export function shrink(
  program: FuzzProgram,
  fails: (program: FuzzProgram) => boolean,
): FuzzProgram {
  let left = patience;
  let best = program;
  const accept = (candidate: FuzzProgram): boolean => {
    if (left <= 0 || candidate.outputs.length === 0) return false;
    // What nothing reads may be the very thing that matters.
    for (const form of [withoutDeadSteps(candidate), candidate]) {
      left--;
      if (!isWellFormed(form) || !fails(form)) continue;
      best = form;
      return true;
    }
    return false;
  };
  accept(best);
  let before: FuzzProgram;
  do {
    before = best;
    for (const stage of [fewerCalls, fewerOutputs, cutOff, flatter, earlierOutputs, shortcuts, fewerGradients, fewerInputs, plainer]) stage(best, accept, () => best); // prettier-ignore
  } while (before !== best);
  return best;
}

export type Accept = (candidate: FuzzProgram) => boolean;
export type Stage = (program: FuzzProgram, accept: Accept, current: () => FuzzProgram) => void;

/** Whatever is read was made before. */
function isWellFormed({ inputs, steps, outputs }: FuzzProgram): boolean {
  const known = new Set(inputs.map(({ id }) => id));
  return isOrdered(steps, known) && outputs.every((id) => known.has(id));
}

function isOrdered(steps: readonly Step[], known: Set<number>): boolean {
  return steps.every((step) => {
    const isFed = refsOf(step).every((id) => known.has(id));
    const areOrdered = (step.regions ?? []).every((region) => {
      const inside = new Set([...known, ...region.params]);
      return isOrdered(region.steps, inside) && [...region.outputs, ...region.states].every((id) => inside.has(id)); // prettier-ignore
    });
    for (const id of step.results) known.add(id);
    return isFed && areOrdered;
  });
}

const fewerOutputs: Stage = (program, accept, current) => {
  for (const output of program.outputs) if (accept({ ...program, outputs: [output] })) return;
  for (const output of program.outputs) {
    const { outputs } = current();
    if (outputs.length > 1) accept({ ...current(), outputs: outputs.filter((id) => id !== output) }); // prettier-ignore
  }
};

/** Shows what an early step computes, in place of what later ones make of it or write to state. */
const earlierOutputs: Stage = ({ steps }, accept, current) => {
  for (const { results } of steps) {
    for (const id of results) {
      const { outputs } = current();
      if (outputs.length === 1 && outputs[0] === id) return;
      const plain = withoutAssignments(current());
      if (accept({ ...plain, outputs: [id] })) return;
    }
  }
};

/** One call instead of several, the first of all draws. */
const fewerCalls: Stage = ({ variants }, accept, current) => {
  for (const variant of new Set(variants)) {
    if (current().variants.length > 1) accept({ ...current(), variants: [variant] });
  }
  if (current().variants.length > 2) accept({ ...current(), variants: [0, 0] });
};

/** Replaces what steps compute by inputs that hold it: first many steps at once, then fewer. */
const cutOff: Stage = (_, accept, current) => {
  const count = (): number => allSteps(current().steps).length;
  for (let size = count(); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < count();) {
      const program = current();
      const cut = withInputs(program, allSteps(program.steps).slice(from, from + size));
      if (cut === null || !cut.some(accept)) from += size;
    }
  }
};

/** What tells a step from the others. */
function keyOf(step: Step): string {
  return `${step.op} ${step.results.join()} ${refsOf({ ...step, regions: [] }).join()}`;
}

/** The program with steps, in bodies or not, replaced by inputs; also with gradients asked of these. */
function withInputs(program: FuzzProgram, steps: readonly Step[]): FuzzProgram[] | null {
  const values = valuesOf(program);
  if (values === null) return null;
  const cut = new Set(steps.map(keyOf));
  const left = mapSteps(program.steps, (step) => (cut.has(keyOf(step)) ? [] : [step]));
  const next = { ...program, steps: left };
  const read = readIn(next);
  const made = steps.flatMap(({ results }) => results).filter((id) => read.has(id));
  // Of bodies that have not run there are only stand-ins.
  const isReal = (array: NDArray | undefined): boolean => array !== undefined && array.elements !== null; // prettier-ignore
  if (!made.every((id) => values.every((one) => isReal(one.get(id))))) return null;
  const inputs = made.map((id) => inputOf(program, id, values.map((one) => one.get(id)!))); // prettier-ignore
  const plain = { ...next, inputs: [...program.inputs, ...inputs] };
  const floats = inputs.filter(({ dtype }) => isFloat(dtype)).map(({ id }) => id);
  if (program.wrt.length === 0 || floats.length === 0) return [plain];
  return [plain, { ...plain, wrt: [...program.wrt, ...floats] }];
}

/** Every value for every size, those of bodies from where they ran last; null where the program is refused. */
function valuesOf(program: FuzzProgram): ReadonlyMap<number, NDArray>[] | null {
  try {
    const whole = { ...program, steps: mapSteps(program.steps, (step) => (step.results.length > 0 ? [step] : [])) }; // prettier-ignore
    return program.sizes.map((sizes) => {
      const world = new World(whole, sizes);
      const args = world.load(program.variants[0]);
      return inMode(whole, () => runSteps(whole, world.bind(args)));
    });
  } catch {
    return null;
  }
}

function inputOf({ sizes }: FuzzProgram, id: number, arrays: readonly NDArray[]): Input {
  const [{ dtype, shape, storage }] = arrays;
  const extents = shape.map((extent, axis) => {
    const each = arrays.map((array) => array.shape[axis]);
    if (each.every((other) => other === extent)) return extent;
    return each.every((other, i) => other === sizes[i].n) ? 'n' : 'm';
  });
  const values = Array.from({ length: Math.min(64, storage.host.length) }, (_, i) =>
    Number(readElement(dtype, storage.host, i)),
  );
  const base = { id, role: 'argument', dtype, shape: extents, low: -2, high: 2 } as const;
  return values.length > 0 ? { ...base, values } : base;
}

/** Lets what reads a step's result read another value of the same type, or the step's own operand. */
const shortcuts: Stage = (program, accept, current) => {
  for (const step of allSteps(program.steps).toReversed()) {
    const values = valuesOf(current())?.[0];
    const isThere = allSteps(current().steps).some((one) => keyOf(one) === keyOf(step));
    if (values === undefined || !isThere) continue;
    const typeOf = (id: number): string => `${values.get(id)!.dtype}[${values.get(id)!.shape.join()}]`; // prettier-ignore
    for (const result of step.results) {
      const other = refsOf(step).find((id) => values.has(id) && values.has(result) && typeOf(id) === typeOf(result)); // prettier-ignore
      if (other !== undefined && accept(replaced(current(), result, other))) break;
    }
  }
};

function replaced(program: FuzzProgram, from: number, to: number): FuzzProgram {
  const other = (id: number): number => (id === from ? to : id);
  return {
    ...program,
    steps: mapSteps(program.steps, (step) => [
      {
        ...step,
        args: mapRefs(step.args, (id) => ({ ref: other(id) })) as readonly Argument[],
        ...(step.regions && { regions: step.regions.map((region) => ({ ...region, outputs: region.outputs.map(other), states: region.states.map(other) })) }), // prettier-ignore
      },
    ]),
    outputs: program.outputs.map(other),
  };
}

const fewerGradients: Stage = (program, accept, current) => {
  for (const id of program.wrt) if (accept({ ...program, wrt: [id] })) return;
  for (const flag of ['training', 'nested'] as const) {
    if (current()[flag]) accept({ ...current(), [flag]: false });
  }
};

/** Without the inputs that nothing reads. */
const fewerInputs: Stage = (_, accept, current) => {
  for (let size = current().inputs.length; size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < current().inputs.length;) {
      const { inputs, wrt } = current();
      const read = new Set([...readIn(current()), ...wrt]);
      const kept = inputs.filter(({ id }, i) => read.has(id) || i < from || i >= from + size);
      if (kept.length === inputs.length || !accept({ ...current(), inputs: kept })) from += size;
    }
  }
};

/** Smaller sizes, arguments only, and elements that are easy to read. */
const plainer: Stage = (_, accept, current) => {
  const { sizes } = current();
  for (let i = sizes.length - 1; i >= 0 && current().sizes.length > 1; i--) {
    accept({ ...current(), sizes: current().sizes.filter((_, k) => k !== i) });
  }
  for (const { n, m } of [
    { n: 1, m: 1 },
    { n: 2, m: 2 },
    { n: 2, m: 1 },
  ]) {
    const first = current().sizes[0];
    if (current().sizes.length === 1 && n + m < first.n + first.m) accept({ ...current(), sizes: [{ n, m }] }); // prettier-ignore
  }
  for (const { id } of current().inputs) {
    const change = (to: (input: Input) => Input): void => {
      const { inputs } = current();
      const input = inputs.find((one) => one.id === id);
      if (input === undefined) return;
      const next = to(input);
      if (JSON.stringify(next) !== JSON.stringify(input)) accept({ ...current(), inputs: inputs.map((one) => (one === input ? next : one)) }); // prettier-ignore
    };
    change((input) => (input.role === 'captured' ? { ...input, role: 'argument' } : input));
    change((input) => ({ ...input, values: [1] }));
    change((input) => (input.role === 'state' || input.shape.length === 0 ? input : { ...input, shape: input.shape.map(() => 1) })); // prettier-ignore
    change((input) => {
      if (!isFloat(input.dtype) && kindOf(input.dtype) === 'bool') return input;
      return input.values === undefined ? input : { ...input, values: input.values.map(Math.round) }; // prettier-ignore
    });
  }
};
