import { isFloat, kindOf } from '../../src/base/dtype.js';
import { readElement } from '../../src/base/element.js';
import type { NDArray } from '../../src/index.js';
import { type FuzzProgram, type Input, mapRefs, refsOf, withoutAssignments, type Argument, type Step, withoutDeadSteps } from './program.js'; // prettier-ignore
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
    for (const stage of [fewerOutputs, cutOff, earlierOutputs, shortcuts, fewerGradients, fewerInputs, plainer]) stage(best, accept, () => best); // prettier-ignore
  } while (before !== best);
  return best;
}

type Accept = (candidate: FuzzProgram) => boolean;
type Stage = (program: FuzzProgram, accept: Accept, current: () => FuzzProgram) => void;

/** Whatever is read was made before. */
function isWellFormed({ inputs, steps, outputs }: FuzzProgram): boolean {
  const known = new Set(inputs.map(({ id }) => id));
  for (const step of steps) {
    if (!refsOf(step).every((id) => known.has(id))) return false;
    for (const id of step.results) known.add(id);
  }
  return outputs.every((id) => known.has(id));
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

/** Replaces what steps compute by inputs that hold it: first many steps at once, then fewer. */
const cutOff: Stage = (_, accept, current) => {
  for (let size = current().steps.length; size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < current().steps.length;) {
      const program = current();
      const cut = withInputs(program, new Set(program.steps.slice(from, from + size)));
      if (cut === null || !accept(cut)) from += size;
    }
  }
};

function withInputs(program: FuzzProgram, cut: ReadonlySet<Step>): FuzzProgram | null {
  const values = valuesOf(program);
  if (values === null) return null;
  const steps = program.steps.filter((step) => !cut.has(step));
  const read = new Set([...steps.flatMap(refsOf), ...program.outputs]);
  const made = [...cut].flatMap(({ results }) => results).filter((id) => read.has(id));
  return {
    ...program,
    steps,
    inputs: [...program.inputs, ...made.map((id) => inputOf(program, id, values.map((one) => one.get(id)!)))], // prettier-ignore
  };
}

/** Every value for every size; null where the program is refused. */
function valuesOf(program: FuzzProgram): ReadonlyMap<number, NDArray>[] | null {
  try {
    const whole = { ...program, steps: program.steps.filter(({ results }) => results.length > 0) };
    return program.sizes.map((sizes) => {
      const world = new World(whole, sizes);
      const args = world.load(0);
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
  for (const step of program.steps.toReversed()) {
    const values = valuesOf(current())?.[0];
    if (values === undefined || !current().steps.includes(step)) continue;
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
    steps: program.steps.map((step) => ({
      ...step,
      args: mapRefs(step.args, (id) => ({ ref: other(id) })) as readonly Argument[],
    })),
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
      const { inputs, steps, outputs, wrt } = current();
      const read = new Set([...steps.flatMap(refsOf), ...outputs, ...wrt]);
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
    change((input) => {
      if (!isFloat(input.dtype) && kindOf(input.dtype) === 'bool') return input;
      return input.values === undefined ? input : { ...input, values: input.values.map(Math.round) }; // prettier-ignore
    });
  }
};
