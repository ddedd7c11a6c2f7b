import { isFloat } from '../../base/dtype.js';
import { inContext, InternalError } from '../../base/errors.js';
import { type CallNode, namedInputs, Program, typeToString, Value } from '../../ir/program.js';
import { words } from '../../ir/requirement.js';
import type { Tensor } from '../../ir/types.js';
import type {
  BackwardAfter,
  Branches,
  BranchBackward,
  LoopBackward,
  LoopStep,
} from '../../ops/declare/backward.js';
import type { Gradient } from '../../ops/declare/declare.js';
import { add } from '../../ops/elementwise/arithmetic.js';
import { dynamicSlice } from '../../ops/dynamic/dynamic-slice.js';
import { withSizes } from '../../ops/dynamic/with-sizes.js';
import { fill } from '../../ops/movement/fill.js';
import { eliminateCommonSubexpressions } from '../simplify/cse.js';
import { eliminateDeadCode } from '../rewrite/dce.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { carriers, nodesBetween } from './flow.js';
import { branchBackward } from './branch-gradient.js';
import type { SeedForms } from './loop-flow.js';
import { loopBackward } from './loop-gradient.js';
import { indicesOf } from '../rewrite/marks.js';
import { type EquivalentLoops, coveredLoops, mergeLoops } from '../loops/merge-loops.js';
import { type Memo, memoized } from '../rewrite/memo.js';
import { type JointRequest, splitJoint } from './split.js';
import { instantiate } from '../rewrite/transform.js';

/** A differentiation request, over program values or arrays. */
export interface GradientRequest<T extends Tensor> {
  /** The program of the computation. It may grow while gradients are computed. */
  readonly program: Program;
  /** Output gradients: values of the program, each with its gradient as a `T`. */
  readonly outputs: readonly { readonly value: Value; readonly grad: T }[];
  /** The values whose gradients are requested; any values, not only inputs. */
  readonly wrt: readonly Value[];
  /** A value of the program as a `T`. */
  valueOf(value: Value): T;
  add(a: T, b: T): T;
  /** Runs the rule of a call with the call's source line. */
  at?(source: string | undefined, rule: () => readonly (T | null)[]): readonly (T | null)[];
}

/**
 * Reverse-mode differentiation: the gradients with respect to `wrt`, in order, null where there is none.
 *
 * The rules are the operators' own and are written in operators, so with `T = Value` this appends the
 * gradient to a program, and with arrays it computes it. Only nodes between `wrt` and the outputs are
 * visited, once each in reverse order. Operators without a gradient and values that are not floats have none.
 *
 * @throws the error of a rule, with the operator and the user's line of the differentiated call.
 */
export function gradient<T extends Tensor>(request: GradientRequest<T>): readonly (T | null)[] {
  const { program, outputs, wrt } = request;
  if (outputs.length === 0 || wrt.length === 0) return wrt.map(() => null);
  const nodes = nodesBetween(
    program,
    wrt,
    outputs.map(({ value }) => value),
  );
  const carries = carriers(program, nodes, new Set(wrt));
  const grads = new Map<Value, T>();
  const accumulate = (value: Value, grad: T): void => {
    const sum = grads.get(value);
    grads.set(value, sum === undefined ? grad : request.add(sum, grad));
  };
  for (const { value, grad } of outputs) if (carries.has(value)) accumulate(value, grad);

  const wanted = new Set(wrt);
  const covered = coveredLoops(program, nodes);
  for (let i = nodes.length - 1; i >= 0; i--) {
    let id = nodes[i];
    const cover = covered.get(id);
    if (cover !== undefined && !isWanted(cover, program, wanted)) {
      if (id !== cover.first) continue;
      // All readers of any of the loops have been visited by now: one backward loop serves them all.
      for (const [other, same] of cover.others) {
        program.results(other).forEach((result, k) => {
          const grad = grads.get(result);
          if (grad !== undefined) accumulate(same[k], grad);
          grads.delete(result);
        });
      }
      id = cover.by;
    }
    const node = program.node(id);
    if (node.kind !== 'call') continue;
    const results = program.results(id);
    const resultGrads = results.map((result) => grads.get(result) ?? null);
    if (resultGrads.every((grad) => grad === null)) continue;
    const operands = program.operands(id);
    const needs = operands.map((operand) => carries.has(operand));
    if (needs.includes(true)) {
      const flowing = applyRule(node, operands, results, resultGrads, needs, request);
      operands.forEach((operand, k) => {
        const grad = flowing[k];
        if (needs[k] && grad !== null) accumulate(operand, grad);
      });
    }
    // Releases the arrays of eager gradients after their last use.
    for (const result of results) if (!wanted.has(result)) grads.delete(result);
  }
  return wrt.map((value) => grads.get(value) ?? null);
}

/** True when gradients are requested with respect to results of one of several loops. */
function isWanted(
  { by, others }: EquivalentLoops,
  program: Program,
  wanted: ReadonlySet<Value>,
): boolean {
  return [by, ...others.keys()].some((id) => program.results(id).some((each) => wanted.has(each)));
}

function applyRule<T extends Tensor>(
  node: CallNode,
  operands: readonly Value[],
  results: readonly Value[],
  grads: readonly (T | null)[],
  needs: readonly boolean[],
  request: GradientRequest<T>,
): readonly (T | null)[] {
  const { gradient: rule, isUsersGradient = false } = declarationOf(node.op);
  const run = (): readonly (T | null)[] =>
    (rule as Gradient)<T>({
      inputs: operands.map((value) => request.valueOf(value)),
      outputs: results.map((value) => request.valueOf(value)),
      grads,
      attributes: node.attributes,
      needs,
      regions: node.regions,
      backwardAfter,
      backwardOfLoop,
      backwardOfBranches,
    });
  const flowing = grads.find((grad) => grad !== null);
  try {
    const made =
      flowing instanceof Value
        ? flowing.program.withSource(node.source, run)
        : request.at === undefined
          ? run()
          : request.at(node.source, run);
    checkGradients(operands, needs, made);
    return made;
  } catch (error) {
    if (isUsersGradient) throw error;
    throw inContext(error, 'its gradient failed', {
      op: node.op.name,
      ...(node.source !== undefined && { source: node.source }),
    });
  }
}

/**
 * A rule must return a gradient of the right type for each input that needs one; symbols may be spelled
 * differently.
 */
function checkGradients<T extends Tensor>(
  operands: readonly Value[],
  needs: readonly boolean[],
  grads: readonly (T | null)[],
): void {
  operands.forEach(({ type }, k) => {
    const grad = grads[k];
    if (!needs[k] || grad === null) return;
    if (grad === undefined) throw new InternalError(`there is no gradient for input ${k}`);
    const { dtype, shape } = grad.type;
    const fits =
      dtype === type.dtype &&
      shape.length === type.shape.length &&
      shape.every((dim, axis) => {
        const wanted = type.shape[axis];
        return typeof dim !== 'number' || typeof wanted !== 'number' || dim === wanted;
      });
    if (!fits) {
      throw new InternalError(`the gradient of input ${k} has another type`, {
        expected: typeToString(type),
        actual: typeToString(grad.type),
      });
    }
  });
}

/**
 * The program that computes gradients of `program`, which it contains. Its inputs are those of `program`,
 * then the gradients of the outputs that `flows` marks (default: every float output); its outputs are the
 * gradients of the inputs that `wrt` marks, in order, zeros where there is none.
 *
 * It is an ordinary program and can be differentiated again. Memoized, so that it is compiled once.
 */
export function backwardProgram(
  program: Program,
  wrt: readonly boolean[],
  flows: readonly boolean[] = floatOutputs(program),
): Program {
  return memoized(backwards, program, [wrt, flows], () => {
    const raw = Program.from(program, (into) => {
      const { grads } = appendGradients(program, into, wrt, flows);
      into.setOutputs(
        grads.map(({ name, input, value }) => ({
          name,
          value: value ?? zeros(into, input.type),
        })),
      );
    });
    return eliminateDeadCode(mergeLoops(raw));
  });
}

/** `backwardProgram` for a program that has run: its outputs are read instead of recomputed. */
function backwardAfter(
  program: Program,
  wrt: readonly boolean[],
  flows: readonly boolean[],
): BackwardAfter {
  return memoized(backwardsAfter, program, [wrt, flows], () => {
    // Memory is not a constraint here: in one program, recomputed values may become shared.
    const request = differentiated(program, wrt, flows);
    const { gives } = request;
    const { backward, saved, sizes } = splitJoint(request, 'none', false);
    const there = program.inputs.length + program.outputs.length;
    const isThere = saved.every((k) => k < there) && sizes.every(({ place }) => place < there);
    if (isThere) return { program: backward, reads: saved, sizes, gives };
    // If it needs values that are neither recomputable nor saved, the whole program runs once more.
    const reached = program.inputs.map((_, k) => gives.includes(k));
    const whole = backwardProgram(program, reached, flows);
    const passed = program.sizes.map((_, axis) => ({ place: -1, axis }));
    return { program: whole, reads: program.inputs.map((_, k) => k), sizes: passed, gives };
  });
}

const backwards: Memo<Program> = new WeakMap();
const backwardsAfter: Memo<BackwardAfter> = new WeakMap();
const loops: Memo<LoopBackward | null> = new WeakMap();
const branches: Memo<Memo<BranchBackward | null>> = new WeakMap();

function backwardOfLoop(step: LoopStep): LoopBackward | null {
  const { body, slices, states, joined, needs, flows, save, canShift } = step;
  return memoized(loops, body, [slices, states, joined, needs, flows, save, canShift], () =>
    loopBackward(step, differentiated),
  );
}

function backwardOfBranches(request: Branches): BranchBackward | null {
  const { needs, flows, isSettled, loose } = request;
  const [then, otherwise] = request.branches;
  const others = memoized(branches, then, [], () => new WeakMap());
  return memoized(others, otherwise, [needs, flows, isSettled, loose], () =>
    branchBackward(request, differentiated),
  );
}

/**
 * A program and its gradients in one, simplified, ready to be split. `gives` are the inputs that have a
 * gradient; a zero in place of no gradient would be multiplied with other values, infinities among them.
 */
export function differentiated(
  program: Program,
  wrt: readonly boolean[],
  flows: readonly boolean[],
  forms?: SeedForms,
): JointRequest & { readonly gives: readonly number[] } {
  let gives: readonly number[] = [];
  const raw = Program.from(program, (into) => {
    const { outputs, grads } = appendGradients(program, into, wrt, flows, forms);
    const found = grads.flatMap(({ value }) => value ?? []);
    gives = indicesOf(wrt).filter((_, k) => grads[k].value !== null);
    const all = [...outputs, ...found];
    into.setOutputs(all.map((value, k) => ({ name: `o${k}`, value })));
  });
  const count = program.inputs.length;
  const joint = eliminateDeadCode(mergeLoops(eliminateCommonSubexpressions(raw)));
  const values = joint.outputs.map(({ value }) => value);
  const results = program.outputs.map(({ name }, k) => ({ name, value: values[k] }));
  const declared = namedInputs(program);
  return {
    joint,
    boundary: joint.inputs[count].node,
    inputs: joint.inputs.slice(0, count),
    seeds: joint.inputs.slice(count),
    results,
    grads: gives.map((input, k) => ({
      name: `grad_${declared[input].name}`,
      value: values[results.length + k],
    })),
    gives,
  };
}

/** The outputs of a program that can have a gradient. */
export function floatOutputs(program: Program): readonly boolean[] {
  return program.outputs.map(({ value }) => isFloat(value.type.dtype));
}

/**
 * Fills `into` with a copy of `program`, variables for the gradients of the outputs that `flows` marks, and
 * the gradients of the inputs that `wrt` marks, null where there is none.
 */
function appendGradients(
  program: Program,
  into: Program,
  wrt: readonly boolean[],
  flows: readonly boolean[],
  { loose = [], joined = 0 }: SeedForms = {},
): {
  readonly outputs: readonly Value[];
  readonly grads: readonly {
    readonly name: string;
    readonly input: Value;
    readonly value: Value | null;
  }[];
} {
  const declared = namedInputs(program);
  const inputs = declared.map(({ name, type }) => into.variable(name, type));
  const outputs = instantiate(program, into, inputs);
  const seeds = outputs.flatMap((value, k) => {
    if (flows[k] !== true) return [];
    const name = into.freshName(`grad_${program.outputs[k].name}`);
    const grad = k < joined ? partFor(into, name, value) : seedFor(into, name, value, loose[k] ?? []); // prettier-ignore
    return [{ value, grad }];
  });
  const wanted = inputs.filter((_, k) => wrt[k]);
  const found = gradient<Value>({
    program: into,
    outputs: seeds,
    wrt: wanted,
    valueOf: (value) => value,
    add: (a, b) => add<Value>(a, b),
  });
  const names = declared.flatMap(({ name }, k) => (wrt[k] ? [`grad_${name}`] : []));
  return {
    outputs,
    grads: found.map((value, k) => ({ name: names[k], input: wanted[k], value })),
  };
}

/** The gradient of an output: an input, as an array of the output's type. */
function seedFor(into: Program, name: string, of: Value, loose: readonly number[]): Value {
  const { dtype, shape } = of.type;
  const sizes = shape.map((dim, axis) => (loose.includes(axis) ? into.freshDim('size') : dim));
  const given = into.variable(name, { dtype, shape: sizes });
  if (loose.length === 0) return given;
  const refusal = {
    op: 'gradient',
    problem: ['a gradient has another shape than the result'],
    expected: words`${shape}`,
    actual: words`${sizes}`,
  } as const;
  // Only programs from elsewhere can be wrong about it, and these are checked when they are read.
  return into.assuming(() => withSizes<Value>(given, shape, refusal));
}

/** The gradient of an output as a part of an input: this array, and the place where the part begins. */
function partFor(into: Program, name: string, of: Value): Value {
  const { dtype, shape } = of.type;
  const [size, ...row] = shape;
  const whole = into.variable(name, { dtype, shape: [into.freshDim('joined'), ...row] });
  const start = into.variable(into.freshName('start'), { dtype: 'int32', shape: [] });
  return into.assuming(() => dynamicSlice<Value>(whole, start, [size], 0));
}

function zeros(into: Program, { dtype, shape }: Value['type']): Value {
  return into.append(fill.declaration, [], { shape, value: 0, dtype })[0];
}
