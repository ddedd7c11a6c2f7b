import type { NodeId } from '../../graph/graph.js';
import type { Program, Value } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import type { LoopBackward, LoopStep } from '../../ops/declare/backward.js';
import { dimLike } from '../../ops/movement/fill.js';
import {
  backwardBody,
  marker,
  type Role,
  withMarker,
  withRowsFirst,
} from '../rewrite/loop-body.js';
import { type Differentiate, loopFlow, openSizes } from './loop-flow.js';
import { indicesOf } from '../rewrite/marks.js';
import { nominalBytes } from '../rewrite/nominal.js';
import { hasKnownSize, type JointRequest, namedOutputs, splitJoint } from './split.js';

/**
 * Derives the backward loop of a loop; null where no gradient reaches anything that needs one.
 *
 * One iteration is differentiated, and split like any program into a forward and a backward part. Values that
 * are in memory anyway are read: slices, stacked results, captures. Of the others, above all the states at
 * the start of the iteration, forward saves those that `save` asks for as additional rows.
 */
export function loopBackward(step: LoopStep, differentiate: Differentiate): LoopBackward | null {
  const { body, slices, states, joined, save } = step;
  const flow = loopFlow(step, differentiate);
  if (flow === null) return null;
  const { request, flows } = flow;
  const inputs = body.inputs.length;
  const firstCapture = slices + states;
  const rows = body.outputs.length - states;
  const isCapture = (k: number): boolean => k >= firstCapture;
  const values = request.results.map(({ value }) => value);
  /** The row that equals a state at the end of the iteration. */
  const rowOf = (state: number): number =>
    step.canShift ? values.slice(0, rows).indexOf(values[rows + state], joined) : -1;
  const { forward, backward, saved } = splitJoint(request, save, false, {
    isHeld: (place) => {
      // Iterations give any number of joined rows: those of one are not read again.
      if (place >= inputs) return place >= inputs + joined && place < inputs + rows && tellsOwnSizes(body, place - inputs); // prettier-ignore
      return place < slices || isCapture(place) || rowOf(place - slices) >= 0;
    },
    isRepeatable: invariants(request, isCapture),
    // Rows have one shape.
    isKeepable: hasKnownSize(request.joint),
    extraTypes: request.gives.filter(isCapture).map((k) => body.inputs[k].type),
    sizesBy: 'surroundings',
  });
  const roleOf = (place: number): Role => {
    if (place >= inputs + rows + states) return 'saved';
    if (place >= inputs) return 'row';
    if (place < slices) return 'slice';
    return isCapture(place) ? 'capture' : 'before';
  };
  const reading = (role: Role, first: number): number[] =>
    saved.filter((place) => roleOf(place) === role).map((place) => place - first);
  const reads = {
    slices: reading('slice', 0),
    rows: reading('row', inputs),
    before: reading('before', slices).map((state) => ({ state, row: rowOf(state) })),
    captures: reading('capture', firstCapture),
  };
  const flowing = indicesOf(flows);
  const flowJoined = flowing.filter((k) => k < joined);
  const flowRows = flowing.filter((k) => k >= joined && k < rows);
  const flowStates = flowing.filter((k) => k >= rows).map((k) => k - rows);
  addCounts(forward, flowJoined);
  const further = forward.outputs.length - body.outputs.length;
  const { length } = [...reads.slices, ...reads.rows, ...reads.before, ...flowRows];
  const isIdle = length + further === 0;
  const idle = isIdle ? idleData(step) : null;
  const isMarked = idle?.kind === 'marker';
  const count = isMarked ? 1 : further;
  const stacking = isMarked ? withMarker(body, states) : withRowsFirst(forward, rows, states);
  const augmented = count === 0 ? body : stacking;
  return {
    augmented,
    saved: count,
    rowBytes: augmented.outputs
      .slice(rows, rows + count)
      .reduce((sum, { value }) => sum + nominalBytes(value.type), 0),
    backward: backwardBody(body, {
      program: backward,
      roles: [
        ...saved.map(roleOf),
        ...flowing.flatMap((k): readonly Role[] => {
          if (k < joined) return ['joinedGrad', 'start'];
          return [k < rows ? 'rowGrad' : 'stateGrad'];
        }),
      ],
      gives: request.gives,
      slices,
      firstCapture,
      states: flowStates,
      idle: idle?.type ?? null,
    }),
    reads: {
      slices: idle?.kind === 'slice' ? [0] : reads.slices,
      rows: idle?.kind === 'row' ? [joined] : reads.rows,
      before: reads.before,
      captures: reads.captures,
    },
    sizes: backward.sizes.map(({ key }) => key),
    flows: { rows: flowRows, joined: flowJoined, states: flowStates },
    gives: {
      slices: request.gives.filter((k) => k < slices),
      captures: request.gives.filter(isCapture).map((k) => k - firstCapture),
    },
  };
}

/** Loop-invariant forward nodes: values of captures are not stacked. */
function invariants(
  { joint, boundary, inputs }: JointRequest,
  isCapture: (input: number) => boolean,
): (id: NodeId) => boolean {
  const found = new Set(inputs.filter((_, k) => isCapture(k)).map(({ node }) => node));
  for (const id of joint.graph.nodes()) {
    const { kind } = joint.node(id);
    if (kind === 'variable' || id >= boundary) continue;
    if (joint.operands(id).every(({ node }) => found.has(node))) found.add(id);
  }
  return (id) => found.has(id);
}

/** Adds results to an iteration: the numbers of rows that it gives for joined results. */
function addCounts(forward: Program, joined: readonly number[]): void {
  const { outputs } = forward;
  const counts = joined.map((k) => {
    const { value } = outputs[k];
    return dimLike<Value>(value, value.type.shape[0], { dtype: 'int32' });
  });
  if (counts.length > 0)
    forward.setOutputs([...outputs, ...namedOutputs(counts, outputs, 'count')]);
}

/** True for an output that tells all sizes in its type which the data of an iteration decides. */
function tellsOwnSizes({ outputs, decidedSizes }: Program, output: number): boolean {
  const types = [outputs[output].value.type];
  return openSizes(types, decidedSizes).size === 0;
}

/** Data of a loop that reads none: anything with a row for each iteration. */
function idleData({ body, slices, states, joined }: LoopStep): {
  readonly kind: 'slice' | 'row' | 'marker';
  readonly type: TensorType;
} {
  if (slices > 0) return { kind: 'slice', type: body.inputs[0].type };
  const hasStacked = body.outputs.length > states + joined;
  if (hasStacked) return { kind: 'row', type: body.outputs[joined].value.type };
  return { kind: 'marker', type: marker };
}
