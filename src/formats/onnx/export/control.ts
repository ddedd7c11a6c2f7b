import { boundsOf, type Dim, isStatic } from '../../../base/dim/index.js';
import type { Attributes } from '../../../base/attributes/schema.js';
import { bindProgram } from '../../../ir/bind.js';
import type { Program } from '../../../ir/program.js';
import type { TensorType } from '../../../ir/types.js';
import type { ControlLowering, ForeachForm, WhileForm } from '../../../ops/declare/lowering.js';
import type { OnnxCall, OnnxValue } from '../../../ops/declare/onnx.js';
import type { TypedValue } from './parts.js';
import { Sizes } from './sizes.js';
import type { GraphWriter } from './writer.js';

/** Writes a region whose symbols are those of `scope` on operands, and returns its outputs. */
type WriteRegion = (
  onnx: GraphWriter,
  region: Program,
  operands: readonly OnnxValue[],
  scope: Sizes,
) => readonly OnnxValue[];

/** A call of an operator that owns regions. */
interface ControlCall extends OnnxCall {
  readonly onnx: GraphWriter;
  readonly write: WriteRegion;
  /** The sizes that the regions are passed. */
  readonly sizes: readonly Dim[];
}

/**
 * Writes branches as If, loops over at least one row as Scan (which onnxruntime requires), other loops as
 * Loop. Values that a region captures are read by name.
 */
export function writeControl(
  lowering: ControlLowering<Attributes>,
  call: ControlCall,
): readonly OnnxValue[] {
  switch (lowering.kind) {
    case 'branch':
      return writeBranches(call);
    case 'while':
      return writeWhile(lowering.loop(call.attributes), call);
    case 'foreach': {
      const form = lowering.loop(call.attributes);
      const isNeverEmpty = boundsOf(call.inputTypes[0].shape[0]).min > 0;
      const isScan = isNeverEmpty && !form.counted && form.joined === 0;
      return isScan ? writeScan(form, call) : writeRows(form, call);
    }
  }
}

function writeBranches(call: ControlCall): readonly OnnxValue[] {
  const { onnx, outputTypes, write } = call;
  const [predicate, ...captures] = call.inputs;
  const condition = scalarOf(onnx, predicate, call.inputTypes[0]);
  const [then, otherwise] = call.regions.map((region) => {
    const scope = scopeOf(call, region, call.inputTypes.slice(1));
    return onnx.subgraph('branch', () => ({
      inputs: [],
      outputs: results(onnx, write(onnx, region, captures, scope), outputTypes),
    }));
  });
  const graphs = { then_branch: then, else_branch: otherwise };
  return onnx.append('If', [condition], dtypesOf(outputTypes), {}, graphs);
}

/** The parts of a loop over rows. */
interface Rows {
  readonly data: readonly OnnxValue[];
  readonly rowTypes: readonly TensorType[];
  readonly first: readonly OnnxValue[];
  readonly stateTypes: readonly TensorType[];
  /** Types of the joined results. */
  readonly joinedTypes: readonly TensorType[];
  /** Types of the stacked results. */
  readonly stackTypes: readonly TensorType[];
  /** Writes an iteration: from rows and states its rows and new states. */
  step(rows: readonly OnnxValue[], states: readonly OnnxValue[]): readonly OnnxValue[];
}

function rowsOf({ data, states, counted, joined }: ForeachForm, call: ControlCall): Rows {
  const { onnx, inputs, inputTypes, outputTypes } = call;
  const end = inputs.length - Number(counted);
  const rowTypes = inputTypes.slice(0, data).map(withoutFirst);
  const [region] = call.regions;
  const captures = inputs.slice(data + states, end);
  const scope = scopeOf(call, region, [...rowTypes, ...inputTypes.slice(data, end)]);
  return {
    data: inputs.slice(0, data),
    rowTypes,
    first: inputs.slice(data, data + states),
    stateTypes: inputTypes.slice(data, data + states),
    joinedTypes: outputTypes.slice(0, joined),
    stackTypes: outputTypes.slice(joined, outputTypes.length - states),
    step: (rows, before) => call.write(onnx, region, [...rows, ...before, ...captures], scope),
  };
}

function writeScan(form: ForeachForm, call: ControlCall): readonly OnnxValue[] {
  const { onnx } = call;
  const { data, rowTypes, first, stateTypes, stackTypes, step } = rowsOf(form, call);
  const body = onnx.subgraph('body', () => {
    const before = stateTypes.map(({ dtype }) => onnx.fresh('state', dtype));
    const rows = rowTypes.map(({ dtype }) => onnx.fresh('row', dtype));
    const made = step(rows, before);
    return {
      inputs: typed([...before, ...rows], [...stateTypes, ...rowTypes]),
      outputs: results(
        onnx,
        [...made.slice(stackTypes.length), ...made.slice(0, stackTypes.length)],
        [...stateTypes, ...stackTypes.map(withoutFirst)],
      ),
    };
  });
  const backwards = {
    scan_input_directions: data.map(() => 1),
    scan_output_directions: stackTypes.map(() => 1),
  };
  const made = onnx.append(
    'Scan',
    [...first, ...data],
    dtypesOf([...stateTypes, ...stackTypes]),
    { num_scan_inputs: data.length, ...(form.reverse && backwards) },
    { body },
  );
  return [...made.slice(first.length), ...made.slice(0, first.length)];
}

/** A loop over rows whose number is a value. */
function writeRows(form: ForeachForm, call: ControlCall): readonly OnnxValue[] {
  const { onnx } = call;
  const { data, step, ...rows } = rowsOf(form, call);
  const [length] = call.inputTypes[0].shape;
  const trips = form.counted ? onnx.cast(call.inputs.at(-1)!, 'int64') : onnx.size(length);
  const last = form.reverse ? onnx.node('Sub', [trips, onnx.scalar('int64', 1)]) : null;
  const goesOn = onnx.scalar('bool', 1);
  const { states, joined, stacked } = writeLoop(onnx, {
    ...rows,
    trips,
    start: null,
    step: (at, before) => {
      const place = last === null ? at : onnx.node('Sub', [last, at]);
      const read = data.map((x) => onnx.node('Gather', [x, place], { axis: 0 }));
      const made = step(read, before);
      const count = made.length - before.length;
      return { goesOn, rows: made.slice(0, count), states: made.slice(count) };
    },
  });
  const placed = stacked.map((each, k) => {
    if (form.counted) return padded(onnx, each, rows.stackTypes[k], last);
    return form.reverse ? reversed(onnx, each) : each;
  });
  return [...joined, ...placed, ...states];
}

function writeWhile(form: WhileForm, call: ControlCall): readonly OnnxValue[] {
  const { onnx, write, inputTypes, outputTypes } = call;
  const { states, limit, joined } = form;
  const [condition, region] = call.regions;
  const captures = call.inputs.slice(states);
  const given = call.inputs.slice(0, states);
  const stackTypes = outputTypes.slice(joined, outputTypes.length - states - 1);
  const goes = (now: readonly OnnxValue[], scope: Sizes): OnnxValue => {
    const [goesOn] = write(onnx, condition, [...now, ...captures], scope);
    return scalarOf(onnx, goesOn, condition.outputs[0].value.type);
  };
  const scopes = [condition, condition, region].map((each) => scopeOf(call, each, inputTypes));
  const start = goes(given, scopes[0]);
  const found = writeLoop(onnx, {
    trips: limit === null ? null : onnx.size(limit),
    start,
    // The number of iterations is one more state.
    first: [...given, onnx.scalar('int64', 0)],
    stateTypes: [...inputTypes.slice(0, states), countType],
    joinedTypes: outputTypes.slice(0, joined),
    stackTypes,
    step: (at, before) => {
      const made = write(onnx, region, [...before.slice(0, states), ...captures], scopes[2]);
      const after = made.slice(made.length - states);
      return {
        goesOn: goes(after, scopes[1]),
        rows: made.slice(0, made.length - states),
        states: [...after, onnx.node('Add', [at, onnx.scalar('int64', 1)])],
      };
    },
  });
  const stacked = found.stacked.map((each, k) => form.padded ? padded(onnx, each, stackTypes[k], null) : each); // prettier-ignore
  return [
    ...found.joined,
    ...stacked,
    ...found.states.slice(0, states),
    onnx.cast(found.states[states], 'int32'),
  ];
}

const countType: TensorType = { dtype: 'int64', shape: [] };
const truthType: TensorType = { dtype: 'bool', shape: [] };

/** A loop to be written as Loop. */
interface LoopForm extends Pick<Rows, 'first' | 'stateTypes' | 'joinedTypes' | 'stackTypes'> {
  readonly trips: OnnxValue | null;
  readonly start: OnnxValue | null;
  /** Writes an iteration. Its rows are those of the joined results, then of the stacked ones. */
  step(
    at: OnnxValue,
    states: readonly OnnxValue[],
  ): {
    readonly goesOn: OnnxValue;
    readonly rows: readonly OnnxValue[];
    readonly states: readonly OnnxValue[];
  };
}

/** Writes a Loop, in which joined rows are states that grow. */
function writeLoop(
  onnx: GraphWriter,
  { trips, start, first, stateTypes, joinedTypes, stackTypes, step }: LoopForm,
): Readonly<Record<'states' | 'joined' | 'stacked', readonly OnnxValue[]>> {
  const states = first.length;
  const carriedTypes = [...stateTypes, ...joinedTypes];
  const body = onnx.subgraph('body', () => {
    const at = onnx.fresh('iteration', 'int64');
    const goesOn = onnx.fresh('goes_on', 'bool');
    const before = carriedTypes.map(({ dtype }) => onnx.fresh('state', dtype));
    const made = step(at, before.slice(0, states));
    const joined = before.slice(states).map((all, k) => onnx.node('Concat', [all, made.rows[k]], { axis: 0 })); // prettier-ignore
    return {
      inputs: typed([at, goesOn, ...before], [countType, truthType, ...carriedTypes]),
      outputs: results(
        onnx,
        [made.goesOn, ...made.states, ...joined, ...made.rows.slice(joined.length)],
        [truthType, ...carriedTypes, ...stackTypes.map(withoutFirst)],
      ),
    };
  });
  const initial = [...first, ...joinedTypes.map((type) => noRows(onnx, type))];
  const made = onnx.append('Loop', [trips, start, ...initial], dtypesOf([...carriedTypes, ...stackTypes]), {}, { body }); // prettier-ignore
  return {
    states: made.slice(0, states),
    joined: made.slice(states, initial.length),
    stacked: made.slice(initial.length).map((each, k) => withTrailing(onnx, each, stackTypes[k])),
  };
}

/** Joined rows before the first iteration. */
function noRows(onnx: GraphWriter, { dtype, shape }: TensorType): OnnxValue {
  const row = shape.slice(1);
  if (!onnx.scope.knows(row)) onnx.unsupported('its joined rows have a size that the data decides');
  return onnx.node('Expand', [onnx.scalar(dtype, 0), onnx.sizes([0, ...row])]);
}

/**
 * Restores the full shape of rows of a loop that may have no iterations: without iterations onnxruntime takes
 * unknown sizes for 0, also those that only an iteration determines.
 */
function withTrailing(onnx: GraphWriter, rows: OnnxValue, { shape }: TensorType): OnnxValue {
  const trailing = shape.slice(1);
  if (trailing.every(isStatic) || !onnx.scope.knows(trailing)) return rows;
  const count = onnx.node('Shape', [rows], { start: 0, end: 1 }, 'int64');
  const whole = onnx.node('Concat', [count, onnx.sizes(trailing)], { axis: 0 });
  return onnx.node('Reshape', [rows, whole], { allowzero: 1 });
}

/** The leading rows of a result whose other rows are zero; counted down from `last` when written in reverse. */
function padded(
  onnx: GraphWriter,
  rows: OnnxValue,
  { dtype, shape }: TensorType,
  last: OnnxValue | null,
): OnnxValue {
  const count = onnx.node('Shape', [rows], { start: 0, end: 1 }, 'int64');
  const end = onnx.node('Reshape', [count, onnx.ints([])]);
  const numbers = onnx.node('Range', [onnx.scalar('int64', 0), end, onnx.scalar('int64', 1)]);
  const places = last === null ? numbers : onnx.node('Sub', [last, numbers]);
  const whole = onnx.scope.knows(shape)
    ? onnx.sizes(shape)
    : onnx.node('Concat', [onnx.sizes([shape[0]]), onnx.node('Shape', [rows], { start: 1 }, 'int64')], { axis: 0 }); // prettier-ignore
  const zeros = onnx.node('Expand', [onnx.scalar(dtype, 0), whole]);
  return onnx.node('ScatterND', [zeros, onnx.node('Unsqueeze', [places, onnx.ints([1])]), rows]);
}

function reversed(onnx: GraphWriter, rows: OnnxValue): OnnxValue {
  const [start, end] = [onnx.ints([-1]), onnx.ints([-(2 ** 31)])];
  return onnx.node('Slice', [rows, start, end, onnx.ints([0]), onnx.ints([-1])]);
}

/** Reshapes a single element to rank 0. */
function scalarOf(onnx: GraphWriter, x: OnnxValue, { shape }: TensorType): OnnxValue {
  return shape.length === 0 ? x : onnx.reshape(x, []);
}

/**
 * Values for the symbols of a region: sizes of the enclosing graph, computed once there. Other symbolic sizes
 * are computed inside the region.
 */
function scopeOf(
  { onnx, sizes }: ControlCall,
  region: Program,
  operands: readonly TensorType[],
): Sizes {
  const scope = new Sizes(onnx.scope);
  const dims = bindProgram<Dim>(region, operands, sizes);
  for (const [name, dim] of dims) scope.bind(name, onnx.sizes([dim]));
  return scope;
}

/** The outputs of a graph: each is made by a node of its own, as ONNX requires. */
function results(
  onnx: GraphWriter,
  values: readonly OnnxValue[],
  types: readonly TensorType[],
): readonly TypedValue[] {
  const own = new Set(onnx.written.flatMap(({ outputs }) => outputs));
  const distinct = values.map((value) =>
    own.delete(value) ? value : onnx.append('Identity', [value], [value.dtype])[0],
  );
  return typed(distinct, types);
}

function typed(values: readonly OnnxValue[], types: readonly TensorType[]): readonly TypedValue[] {
  return values.map((value, k) => ({
    value,
    shape: types[k].shape.map((dim) => (isStatic(dim) ? dim : null)),
  }));
}

function withoutFirst({ dtype, shape }: TensorType): TensorType {
  return { dtype, shape: shape.slice(1) };
}

function dtypesOf(types: readonly TensorType[]): readonly TensorType['dtype'][] {
  return types.map(({ dtype }) => dtype);
}
