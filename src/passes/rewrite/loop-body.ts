import { namedInputs, Program, type Value } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { add } from '../../ops/elementwise/arithmetic.js';
import { fill, zerosLike } from '../../ops/movement/fill.js';
import { instantiate } from './transform.js';

/** Role of a backward program's input in the loop that runs it. */
export type Role =
  | 'slice'
  | 'row'
  | 'before'
  | 'saved'
  | 'rowGrad'
  | 'start'
  | 'joinedGrad'
  | 'stateGrad'
  | 'capture';

/** The backward program of one iteration, and the roles of its inputs and outputs. */
export interface BackwardStep {
  readonly program: Program;
  /** By input. */
  readonly roles: readonly Role[];
  /** By output: index of the body's input that this is the gradient of. */
  readonly gives: readonly number[];
  readonly slices: number;
  /** Index of the first capture among the inputs of the body. */
  readonly firstCapture: number;
  /** The states that have gradients. */
  readonly states: readonly number[];
  /** The type of the data when none is read. */
  readonly idle: TensorType | null;
}

/**
 * The body of the backward loop, in the order of `LoopBackward`, with an accumulator for the gradient of each
 * capture.
 */
export function backwardBody(body: Program, step: BackwardStep): Program {
  const { program, roles, gives, slices, firstCapture, states, idle } = step;
  const declared = namedInputs(program);
  const names = namedInputs(body).map(({ name }) => name);
  return Program.from(program, (into) => {
    const given: Value[] = [];
    const take = (role: Role): Value[] =>
      declared.flatMap(({ name, type }, k) => {
        if (roles[k] !== role) return [];
        return [(given[k] = into.variable(into.freshName(name), type))];
      });
    if (idle !== null) into.variable('step', ofAnySize(into, idle));
    for (const role of ['slice', 'row', 'before', 'saved', 'rowGrad', 'start'] as const) take(role);
    const entering = take('stateGrad');
    const captures = gives.filter((k) => k >= firstCapture);
    const sums = captures.map((k) =>
      into.variable(into.freshName(`sum_${names[k]}`), body.inputs[k].type),
    );
    take('capture');
    take('joinedGrad');
    const grads = instantiate(program, into, given);
    const gradOf = (input: number): Value | undefined => grads[gives.indexOf(input)];
    const outputs = [
      ...gives.filter((k) => k < slices).map((k) => ({ input: k, value: gradOf(k)! })),
      ...states.map((state, i) => {
        const input = slices + state;
        // Earlier iterations do not contribute to values that this one makes itself.
        return { input, value: gradOf(input) ?? zerosLike<Value>(entering[i]) };
      }),
      ...captures.map((k, i) => ({ input: k, value: add<Value>(sums[i], gradOf(k)!) })),
    ];
    into.setOutputs(outputs.map(({ input, value }) => ({ name: `grad_${names[input]}`, value })));
  });
}

/** A placeholder type: its sizes are irrelevant, and need not follow from others. */
export function ofAnySize(into: Program, { dtype, shape }: TensorType): TensorType {
  return {
    dtype,
    shape: shape.map((dim) => (typeof dim === 'number' ? dim : into.freshDim('size'))),
  };
}

/** Moves the outputs after the states before them: additional rows. */
export function withRowsFirst(forward: Program, rows: number, states: number): Program {
  const { outputs } = forward;
  const further = outputs.slice(rows + states);
  forward.setOutputs([
    ...outputs.slice(0, rows),
    ...further,
    ...outputs.slice(rows, rows + states),
  ]);
  return forward;
}

/** A row that marks an iteration, when a loop has no other. */
export const marker: TensorType = { dtype: 'bool', shape: [] };

export function withMarker(body: Program, states: number): Program {
  return Program.from(body, (into) => {
    const inputs = namedInputs(body).map(({ name, type }) => into.variable(name, type));
    const values = instantiate(body, into, inputs);
    const outputs = body.outputs.map(({ name }, k) => ({ name, value: values[k] }));
    const [step] = into.append(fill.declaration, [], { ...marker, value: 1 });
    const rows = outputs.length - states;
    const name = freeName('step', body);
    into.setOutputs([...outputs.slice(0, rows), { name, value: step }, ...outputs.slice(rows)]);
  });
}

function freeName(hint: string, { outputs }: Program): string {
  const taken = new Set(outputs.map(({ name }) => name));
  let name = hint;
  for (let count = 2; taken.has(name); count++) name = `${hint}_${count}`;
  return name;
}
