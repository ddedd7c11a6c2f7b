import { boundsOf, type Dim, isStatic } from '../../../base/dim/index.js';
import type { Attributes } from '../../../base/attributes/schema.js';
import { bindProgram } from '../../../ir/bind.js';
import type { Program } from '../../../ir/program.js';
import type { TensorType } from '../../../ir/types.js';
import type { ControlLowering, ForeachForm, WhileForm } from '../../../ops/declare/lowering.js';
import type { OnnxCall, OnnxValue } from '../../../ops/declare/onnx.js';
import type { Subgraph, TypedValue } from './parts.js';
import { Sizes } from './sizes.js';
import type { GraphWriter } from './writer.js';

/** Writes a region whose symbols are those of `scope` on operands, and returns its outputs. */
export type WriteRegion = (
  onnx: GraphWriter,
  region: Program,
  operands: readonly OnnxValue[],
  scope: Sizes,
) => readonly OnnxValue[];

/**
 * Writes branches as If, loops over at least one row as Scan (which onnxruntime requires), other loops as
 * Loop. Values that a region captures are read by name.
 */
export function writeControl(
  onnx: GraphWriter,
  lowering: ControlLowering<Attributes>,
  call: OnnxCall,
  write: WriteRegion,
  sizes: readonly Dim[],
): readonly OnnxValue[] {
  switch (lowering.kind) {
    case 'branch':
      return writeBranches(onnx, call, write, sizes);
    case 'while':
      return writeWhile(onnx, lowering.loop(call.attributes), call, write, sizes);
    case 'foreach': {
      const form = lowering.loop(call.attributes);
      const isNeverEmpty = boundsOf(call.inputTypes[0].shape[0]).min > 0;
      const isScan = isNeverEmpty && !form.counted && form.joined === 0;
      const writeLoop = isScan ? writeScan : writeRows;
      return writeLoop(onnx, form, call, write, sizes);
    }
  }
}

function writeBranches(
  onnx: GraphWriter,
  call: OnnxCall,
  write: WriteRegion,
  sizes: readonly Dim[],
): readonly OnnxValue[] {
  const [predicate, ...captures] = call.inputs;
  const types = call.inputTypes.slice(1);
  const condition = scalarOf(onnx, predicate, call.inputTypes[0]);
  const [then, otherwise] = call.regions.map((region) => {
    const scope = scopeOf(onnx, region, types, sizes);
    return onnx.subgraph('branch', () => ({
      inputs: [],
      outputs: results(onnx, write(onnx, region, captures, scope), call.outputTypes),
    }));
  });
  const graphs = { then_branch: then, else_branch: otherwise };
  return onnx.append('If', [condition], dtypesOf(call.outputTypes), {}, graphs);
}

/** The parts of a loop over rows. */
interface Rows {
  readonly data: readonly OnnxValue[];
  readonly rowTypes: readonly TensorType[];
  readonly first: readonly OnnxValue[];
  readonly stateTypes: readonly TensorType[];
  readonly captures: readonly OnnxValue[];
  /** Types of the joined results. */
  readonly joinedTypes: readonly TensorType[];
  /** Types of the stacked results. */
  readonly stackTypes: readonly TensorType[];
  readonly region: Program;
  readonly scope: Sizes;
}

function rowsOf(
  onnx: GraphWriter,
  { data, states, counted, joined }: ForeachForm,
  call: OnnxCall,
  sizes: readonly Dim[],
): Rows {
  const end = call.inputs.length - Number(counted);
  const rowTypes = call.inputTypes.slice(0, data).map(withoutFirst);
  const [region] = call.regions;
  return {
    data: call.inputs.slice(0, data),
    rowTypes,
    first: call.inputs.slice(data, data + states),
    stateTypes: call.inputTypes.slice(data, data + states),
    captures: call.inputs.slice(data + states, end),
    joinedTypes: call.outputTypes.slice(0, joined),
    stackTypes: call.outputTypes.slice(joined, call.outputTypes.length - states),
    region,
    scope: scopeOf(onnx, region, [...rowTypes, ...call.inputTypes.slice(data, end)], sizes),
  };
}

function writeScan(
  onnx: GraphWriter,
  form: ForeachForm,
  call: OnnxCall,
  write: WriteRegion,
  sizes: readonly Dim[],
): readonly OnnxValue[] {
  const { data, rowTypes, first, stateTypes, captures, stackTypes, region, scope } = rowsOf(onnx, form, call, sizes); // prettier-ignore
  const body = onnx.subgraph('body', () => {
    const before = stateTypes.map(({ dtype }) => onnx.fresh('state', dtype));
    const rows = rowTypes.map(({ dtype }) => onnx.fresh('row', dtype));
    const made = write(onnx, region, [...rows, ...before, ...captures], scope);
    return {
      inputs: [...typed(before, stateTypes), ...typed(rows, rowTypes)],
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
function writeRows(
  onnx: GraphWriter,
  form: ForeachForm,
  call: OnnxCall,
  write: WriteRegion,
  sizes: readonly Dim[],
): readonly OnnxValue[] {
  const { data, first, captures, joinedTypes, stackTypes, region, scope, ...given } = rowsOf(onnx, form, call, sizes); // prettier-ignore
  const [states, joined] = [first.length, joinedTypes.length];
  const stateTypes = [...given.stateTypes, ...joinedTypes];
  const [length] = call.inputTypes[0].shape;
  const count = form.counted ? onnx.cast(call.inputs.at(-1)!, 'int64') : onnx.size(length);
  const last = form.reverse ? onnx.node('Sub', [count, onnx.scalar('int64', 1)]) : null;
  const isGoing = onnx.scalar('bool', 1);
  const body = onnx.subgraph('body', () => {
    const at = onnx.fresh('iteration', 'int64');
    const goesOn = onnx.fresh('goes_on', 'bool');
    const before = stateTypes.map(({ dtype }) => onnx.fresh('state', dtype));
    const place = last === null ? at : onnx.node('Sub', [last, at]);
    const rows = data.map((x) => onnx.node('Gather', [x, place], { axis: 0 }));
    const made = write(onnx, region, [...rows, ...before.slice(0, states), ...captures], scope);
    return loopBody(
      onnx,
      { at, goesOn, before, stateTypes },
      {
        again: isGoing,
        states: [...made.slice(joined + stackTypes.length), ...joinedAfter(onnx, before.slice(states), made)], // prettier-ignore
        rows: made.slice(joined, joined + stackTypes.length),
        rowTypes: stackTypes.map(withoutFirst),
      },
    );
  });
  const initial = [...first, ...joinedTypes.map((type) => noRows(onnx, type))];
  const made = onnx.append('Loop', [count, null, ...initial], dtypesOf([...stateTypes, ...stackTypes]), {}, { body }); // prettier-ignore
  const stacked = made.slice(stateTypes.length).map((each, k) => {
    const whole = withTrailing(onnx, each, stackTypes[k]);
    if (form.counted) return padded(onnx, whole, stackTypes[k], last);
    return form.reverse ? reversed(onnx, whole) : whole;
  });
  return [...made.slice(states, stateTypes.length), ...stacked, ...made.slice(0, states)];
}

function writeWhile(
  onnx: GraphWriter,
  form: WhileForm,
  call: OnnxCall,
  write: WriteRegion,
  sizes: readonly Dim[],
): readonly OnnxValue[] {
  const { states, limit, padded: isPadded, joined } = form;
  const [condition, region] = call.regions;
  const first = call.inputs.slice(0, states);
  const captures = call.inputs.slice(states);
  const joinedTypes = call.outputTypes.slice(0, joined);
  const stateTypes = [...call.inputTypes.slice(0, states), ...joinedTypes];
  const stackTypes = call.outputTypes.slice(joined, call.outputTypes.length - states - 1);
  const goes = (now: readonly OnnxValue[], scope: Sizes): OnnxValue => {
    const [goesOn] = write(onnx, condition, [...now, ...captures], scope);
    return scalarOf(onnx, goesOn, condition.outputs[0].value.type);
  };
  const scopes = [condition, condition, region].map((each) => scopeOf(onnx, each, call.inputTypes, sizes)); // prettier-ignore
  const start = goes(first, scopes[0]);
  const body = onnx.subgraph('body', () => {
    const at = onnx.fresh('iteration', 'int64');
    const goesOn = onnx.fresh('goes_on', 'bool');
    const before = stateTypes.map(({ dtype }) => onnx.fresh('state', dtype));
    const counted = onnx.fresh('count', 'int64');
    const made = write(onnx, region, [...before.slice(0, states), ...captures], scopes[2]);
    const after = made.slice(joined + stackTypes.length);
    return loopBody(
      onnx,
      { at, goesOn, before: [...before, counted], stateTypes: [...stateTypes, countType] },
      {
        again: goes(after, scopes[1]),
        states: [
          ...after,
          ...joinedAfter(onnx, before.slice(states), made),
          onnx.node('Add', [at, onnx.scalar('int64', 1)]),
        ],
        rows: made.slice(joined, joined + stackTypes.length),
        rowTypes: stackTypes.map(withoutFirst),
      },
    );
  });
  const most = limit === null ? null : onnx.size(limit);
  const initial = [...first, ...joinedTypes.map((type) => noRows(onnx, type))];
  const given = [most, start, ...initial, onnx.scalar('int64', 0)];
  const made = onnx.append('Loop', given, dtypesOf([...stateTypes, countType, ...stackTypes]), {}, { body }); // prettier-ignore
  const count = stateTypes.length;
  const stacked = made.slice(count + 1).map((each, k) => {
    const whole = withTrailing(onnx, each, stackTypes[k]);
    return isPadded ? padded(onnx, whole, stackTypes[k], null) : whole;
  });
  return [...made.slice(states, count), ...stacked, ...made.slice(0, states), onnx.cast(made[count], 'int32')]; // prettier-ignore
}

const countType: TensorType = { dtype: 'int64', shape: [] };

/** Joined rows are states that grow. */
function joinedAfter(
  onnx: GraphWriter,
  before: readonly OnnxValue[],
  rows: readonly OnnxValue[],
): readonly OnnxValue[] {
  return before.map((joined, k) => onnx.node('Concat', [joined, rows[k]], { axis: 0 }));
}

/** Joined rows before the first iteration. */
function noRows(onnx: GraphWriter, { dtype, shape }: TensorType): OnnxValue {
  const row = shape.slice(1);
  if (!onnx.scope.knows(row)) onnx.unsupported('its joined rows have a size that the data decides');
  return onnx.node('Expand', [onnx.scalar(dtype, 0), onnx.sizes([0, ...row])]);
}

/** The body graph of a Loop. */
function loopBody(
  onnx: GraphWriter,
  given: {
    readonly at: OnnxValue;
    readonly goesOn: OnnxValue;
    readonly before: readonly OnnxValue[];
    readonly stateTypes: readonly TensorType[];
  },
  made: {
    readonly again: OnnxValue;
    readonly states: readonly OnnxValue[];
    readonly rows: readonly OnnxValue[];
    readonly rowTypes: readonly TensorType[];
  },
): Pick<Subgraph, 'inputs' | 'outputs'> {
  const truthType: TensorType = { dtype: 'bool', shape: [] };
  return {
    inputs: [
      ...typed([given.at, given.goesOn], [countType, truthType]),
      ...typed(given.before, given.stateTypes),
    ],
    outputs: results(
      onnx,
      [made.again, ...made.states, ...made.rows],
      [truthType, ...given.stateTypes, ...made.rowTypes],
    ),
  };
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
  onnx: GraphWriter,
  region: Program,
  operands: readonly TensorType[],
  sizes: readonly Dim[],
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
