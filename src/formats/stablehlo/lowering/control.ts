import type { Attributes } from '../../../base/attributes/schema.js';
import { isStatic, sameShape } from '../../../base/dim/index.js';
import type { ControlLowering, ForeachForm, WhileForm } from '../../../ops/declare/lowering.js';
import type { TensorType } from '../../../ir/types.js';
import type { HloCall, WriteProgram } from './call.js';
import type { HloType, HloValue } from '../language/types.js';
import { atLeastOne, type HloWriter } from '../language/writer.js';

/** Writes branches as `if` and loops as `while`. Regions read the values that they capture by name. */
export function writeHloControl(
  lowering: ControlLowering<Attributes>,
  call: HloCall,
  write: WriteProgram,
): readonly HloValue[] {
  switch (lowering.kind) {
    case 'branch':
      return writeBranches(call, write);
    case 'while':
      return writeWhile(lowering.loop(call.attributes), call, write);
    case 'foreach':
      return writeForeach(lowering.loop(call.attributes), call, write);
  }
}

function writeBranches(call: HloCall, write: WriteProgram): readonly HloValue[] {
  const { hlo, inputs, regions, outputTypes } = call;
  const [predicate, ...captures] = inputs;
  const branches = regions.map((region) =>
    hlo.region([], 'once', () =>
      write(hlo, region, captures).map((value, k) => hlo.checked(value, outputTypes[k])),
    ),
  );
  return hlo.ops('stablehlo.if', [hlo.reshape(predicate, [])], outputTypes, {}, branches);
}

/** One iteration: the states after it, and a row for each stacked result. */
interface Iteration {
  readonly states: readonly HloValue[];
  readonly rows: readonly HloValue[];
}

/** A loop to be written. */
export interface HloLoop {
  /** The initial states. */
  readonly first: readonly HloValue[];
  /** Types of the stacked results, whose rows are zero where no iteration writes them. */
  readonly stackTypes: readonly TensorType[];
  /**
   * Arrays as which stacked results may begin, since nothing else needs them and every row is written: that takes
   * neither zeros nor memory. The first that fits is taken out.
   */
  readonly spent?: readonly Set<HloValue>[];
  /** True while there are iterations to come; `at` is the number of those that ran, int32. */
  goesOn(at: HloValue, states: readonly HloValue[]): HloValue;
  /** The row that an iteration reads and writes. */
  place(at: HloValue): HloValue;
  iterate(place: HloValue, states: readonly HloValue[]): Iteration;
}

/** Results of a loop, and the number of its iterations. */
export interface HloLoopResults {
  readonly stacks: readonly HloValue[];
  readonly states: readonly HloValue[];
  readonly iterations: HloValue;
}

/** Writes a loop that carries its states, its stacked results and the number of iterations. */
export function writeLoop(hlo: HloWriter, loop: HloLoop): HloLoopResults {
  const { first, stackTypes } = loop;
  const begin = stackTypes.map(({ dtype, shape: [rows, ...row] }) => {
    // A row that no iteration writes must have a place, too.
    const type = { dtype, shape: [atLeastOne(rows), ...row] };
    for (const arrays of loop.spent ?? []) {
      const fit = [...arrays].find((x) => x.dtype === dtype && sameShape(x.shape, type.shape));
      if (fit !== undefined && arrays.delete(fit)) return fit;
    }
    return hlo.splat(dtype, 0, type.shape);
  });
  const given = [hlo.splat('int32', 0), ...first, ...begin];
  const types = given.map(({ dtype, shape }): HloType => ({ dtype, shape }));
  const end = 1 + first.length;
  const condition = hlo.region(types, 'repeated', ([at, ...carried]) => [
    loop.goesOn(at, carried.slice(0, first.length)),
  ]);
  const body = hlo.region(types, 'repeated', ([at, ...carried]) => {
    const place = loop.place(at);
    const { states, rows } = loop.iterate(place, carried.slice(0, first.length));
    const stacks = rows.map((row, k) => hlo.withRow(carried[first.length + k], row, place));
    return [hlo.map('add', [at, hlo.splat('int32', 1)]), ...states, ...stacks];
  });
  const made = hlo.ops('stablehlo.while', given, types, {}, [condition, body]);
  const stacks = made.slice(end).map((stack, k) => hlo.slice(stack, stack.shape.map(() => 0), stackTypes[k].shape)); // prettier-ignore
  return { iterations: made[0], states: made.slice(1, end), stacks };
}

function writeForeach(form: ForeachForm, call: HloCall, write: WriteProgram): readonly HloValue[] {
  const { hlo, inputs, inputTypes, outputTypes, regions } = call;
  const { data, states, reverse, counted } = form;
  const end = inputs.length - Number(counted);
  const rows = inputs.slice(0, data).map((x) => hlo.withoutEmptyAxes(x, [0]));
  const first = inputs.slice(data, data + states);
  const captures = inputs.slice(data + states, end);
  const stackTypes = outputTypes.slice(0, outputTypes.length - states);
  const [length] = inputTypes[0].shape;
  if (length === 0) return [...stackTypes.map(({ dtype, shape }) => hlo.splat(dtype, 0, shape)), ...first]; // prettier-ignore
  const count = counted ? inputs[end] : hlo.sizeSplat('int32', length);
  const last = hlo.map('subtract', [count, hlo.splat('int32', 1)]);
  // The rows of a gradient have the types and partitions of those that the loop forward has read. That one has written
  // what this one reads.
  const spentBefore = new Set(
    rows.flatMap(({ origin }) => (origin?.kind === 'rows' ? [origin.spent] : [])),
  );
  const made = writeLoop(hlo, {
    first,
    stackTypes,
    spent: counted || !isStatic(length) ? [] : [...spentBefore],
    goesOn: (at) => hlo.compare('LT', at, count),
    place: (at) => (reverse ? hlo.map('subtract', [last, at]) : at),
    iterate: (place, before) => {
      const slices = rows.map((x) => hlo.row(x, place));
      const results = write(hlo, regions[0], [...slices, ...before, ...captures]);
      return {
        rows: results.slice(0, stackTypes.length),
        states: results.slice(stackTypes.length),
      };
    },
  });
  const spent = new Set(rows.filter((x) => call.spent.includes(x)));
  return [...made.stacks.map((stack) => ({ ...stack, origin: { kind: 'rows', spent } as const })), ...made.states]; // prettier-ignore
}

function writeWhile(form: WhileForm, call: HloCall, write: WriteProgram): readonly HloValue[] {
  const { hlo, inputs, outputTypes, regions } = call;
  const { states, limit } = form;
  const [condition, body] = regions;
  const first = inputs.slice(0, states);
  const captures = inputs.slice(states);
  const stackTypes = outputTypes.slice(0, outputTypes.length - states - 1);
  const holds = (now: readonly HloValue[]): HloValue =>
    hlo.reshape(write(hlo, condition, [...now, ...captures])[0], []);
  const made = writeLoop(hlo, {
    first,
    stackTypes,
    goesOn: (at, now) => {
      const goes = holds(now);
      if (limit === null) return goes;
      return hlo.map('and', [goes, hlo.compare('LT', at, hlo.sizeSplat('int32', limit))]);
    },
    place: (at) => at,
    iterate: (_, before) => {
      const results = write(hlo, body, [...before, ...captures]);
      return {
        rows: results.slice(0, stackTypes.length),
        states: results.slice(stackTypes.length),
      };
    },
  });
  return [...made.stacks, ...made.states, made.iterations];
}
