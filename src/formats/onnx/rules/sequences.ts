import { isStatic, mulDim } from '../../../base/dim/index.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import { elementFor } from '../tensor.js';
import type { ImportedNode } from '../node.js';
import {
  integers,
  type OptionalOperand,
  type ImportedOperand,
  type RowsOperand,
  type SequenceOperand,
  TensorOperand,
  truthOperand,
} from '../operand.js';
import { anyElement, type ImportRules } from './rule.js';

/*
 * Sequences and optional values are taken apart while a model is read: how long a sequence is, and whether
 * an optional value is there, must be known then. Sequences to which loops add tensors of one shape are arrays with a
 * row for each, so that a run may decide their length.
 */

/** Length limit of sequences, which are unrolled. */
const mostEntries = 65536;

function sequence(node: ImportedNode, index: number): SequenceOperand {
  const operand = node.inputs[index] ?? null;
  if (operand?.kind === 'sequence') return operand;
  if (operand?.kind === 'optional' && operand.entry?.kind === 'sequence') return operand.entry;
  if (operand?.kind === 'rows') throw node.unsupported('a loop decides the length of the sequence');
  throw node.refuse(`input ${index} is no sequence`);
}

/** The rows of a sequence that is an array; null for one whose entries are known. */
function rowsOf(node: ImportedNode): TensorOperand | null {
  const operand = node.inputs[0] ?? null;
  return operand?.kind === 'rows' ? operand.rows : null;
}

/** A sequence to whose end a loop has added rows. */
export function withAddedRows(
  node: ImportedNode,
  before: ImportedOperand,
  rows: TensorOperand,
): RowsOperand {
  const added = rows.valueIn(node.region);
  const all = (earlier: Value): RowsOperand => {
    return { kind: 'rows', rows: TensorOperand.of(ops.concat([earlier, added]), rows.element) };
  };
  if (before.kind === 'rows') return all(before.rows.valueIn(node.region));
  if (before.kind !== 'sequence') throw node.refuse('it adds to what is no sequence');
  if (before.entries.length === 0) return { kind: 'rows', rows };
  return all(ops.stack(tensorsOf(node, before)));
}

function tensorsOf(node: ImportedNode, { entries }: SequenceOperand): readonly Value[] {
  return entries.map((entry) => {
    if (entry.kind !== 'tensor') throw node.refuse('the sequence holds other sequences');
    return entry.valueIn(node.region);
  });
}

function placeIn(node: ImportedNode, index: number, length: number): number {
  const at = node.number(index);
  const place = at < 0 ? at + length : at;
  if (place < 0 || place >= length) throw node.refuse(`position ${at} is outside of the sequence`);
  return place;
}

function inserted(node: ImportedNode): SequenceOperand {
  const { entries } = sequence(node, 0);
  const given = node.has(2) ? node.number(2) : entries.length;
  // As in Python's lists: -1 is before the last entry.
  const at = given < 0 ? given + entries.length : given;
  if (at < 0 || at > entries.length)
    throw node.refuse(`position ${given} is outside of the sequence`);
  return { kind: 'sequence', entries: entries.toSpliced(at, 0, node.operand(1)) };
}

/** SplitToSequence: parts along an axis; without sizes they have extent 1, and the axis may be dropped. */
function split(node: ImportedNode): SequenceOperand {
  const x = node.value(0);
  const axis = node.axis(node.attributes.int('axis', 0), x.type.shape.length);
  const extent = x.type.shape[axis];
  if (!isStatic(extent)) throw node.unsized('the size of the axis is not known');
  const isSingle = !node.has(1);
  const given = isSingle ? [1] : node.numbers(1);
  const isEach = isSingle || node.rank(1) === 0;
  if (isEach && given[0] < 1) throw node.refuse('the parts are empty');
  if (isEach && extent / given[0] > mostEntries) throw node.unsupported('a sequence is too long');
  const sizes = isEach
    ? Array.from({ length: Math.ceil(extent / given[0]) }, (_, k) =>
        Math.min(given[0], extent - k * given[0]),
      )
    : given;
  const cuts: number[] = [];
  for (const size of sizes.slice(0, -1)) cuts.push((cuts.at(-1) ?? 0) + size);
  if (sizes.length === 0) return { kind: 'sequence', entries: [] };
  const dropsAxis = isSingle && !node.attributes.flag('keepdims', true);
  const entries = ops
    .split(x, cuts, axis)
    .map((part) => node.like(0, dropsAxis ? ops.squeeze(part, axis) : part));
  return { kind: 'sequence', entries };
}

function joined(node: ImportedNode): TensorOperand {
  const rows = rowsOf(node);
  if (rows !== null) return joinedRows(node, rows);
  const whole = sequence(node, 0);
  const values = tensorsOf(node, whole);
  if (values.length === 0) throw node.refuse('the sequence is empty');
  const axis = node.attributes.int('axis', 0);
  const [first] = whole.entries;
  const result = node.attributes.flag('new_axis')
    ? ops.stack(values, axis)
    : ops.concat(values, axis);
  return TensorOperand.of(result, (first as TensorOperand).element);
}

/** Rows side by side along an axis of theirs, or along a new one. */
function joinedRows(node: ImportedNode, rows: TensorOperand): TensorOperand {
  const isNew = node.attributes.flag('new_axis');
  const { shape } = rows.type;
  const axis = node.axis(node.attributes.int('axis', 0), isNew ? shape.length : shape.length - 1);
  const moved = ops.moveaxis(rows.valueIn(node.region), 0, axis);
  if (isNew) return TensorOperand.of(moved, rows.element);
  const merged = shape.slice(1).with(axis, mulDim(shape[0], shape[axis + 1]));
  return TensorOperand.of(ops.reshape(moved, merged), rows.element);
}

/**
 * SequenceMap: runs a graph for each entry of the first sequence, with the entries of the others, or a tensor
 * for all.
 */
function mapped(node: ImportedNode): readonly ImportedOperand[] {
  const body = node.attributes.graph('body');
  const { entries } = sequence(node, 0);
  const results = entries.map((entry, k) =>
    node.subgraph(
      body,
      [
        entry,
        ...node.inputs.slice(1).map((other, i): ImportedOperand => {
          if (other?.kind !== 'sequence') return other ?? node.operand(i + 1);
          if (other.entries.length !== entries.length) throw node.refuse('the sequences have different lengths'); // prettier-ignore
          return other.entries[k];
        }),
      ],
      node.proto.output.length,
    ),
  );
  return body.output.map((_, k) => ({ kind: 'sequence', entries: results.map((each) => each[k]) }));
}

function optional(node: ImportedNode): OptionalOperand {
  const operand = node.inputs[0] ?? null;
  if (operand?.kind === 'optional') throw node.refuse('an optional value holds another');
  return { kind: 'optional', entry: operand };
}

export const sequences: ImportRules = {
  SequenceConstruct: anyElement((node) => ({
    kind: 'sequence',
    entries: node.inputs.map((_, k) => node.operand(k)),
  })),
  SequenceEmpty: anyElement((node) => {
    elementFor(node.attributes.int('dtype', 1), `the sequence of ${node.place}`);
    return { kind: 'sequence', entries: [] };
  }),
  SequenceAt: anyElement((node) => {
    const rows = rowsOf(node);
    if (rows !== null) {
      const at = ops.reshape(node.value(1), []);
      return TensorOperand.of(ops.take(rows.valueIn(node.region), at, { axis: 0 }), rows.element);
    }
    const { entries } = sequence(node, 0);
    return entries[placeIn(node, 1, entries.length)];
  }),
  SequenceInsert: anyElement(inserted),
  SequenceErase: anyElement((node) => {
    const { entries } = sequence(node, 0);
    const at = node.has(1) ? placeIn(node, 1, entries.length) : entries.length - 1;
    return { kind: 'sequence', entries: entries.toSpliced(at, 1) };
  }),
  SequenceLength: anyElement((node) => {
    const rows = rowsOf(node);
    if (rows !== null) return TensorOperand.of(ops.slice(ops.shapeOf(rows.valueIn(node.region)), 0)); // prettier-ignore
    return TensorOperand.constant(integers([sequence(node, 0).entries.length], []));
  }),
  ConcatFromSequence: anyElement(joined),
  SplitToSequence: anyElement(split),
  SequenceMap: anyElement(mapped),
  Optional: anyElement(optional),
  OptionalHasElement: anyElement((node) => {
    const operand = node.inputs[0] ?? null;
    return truthOperand(
      operand !== null && (operand.kind !== 'optional' || operand.entry !== null),
    );
  }),
  OptionalGetElement: anyElement((node) => {
    const operand = node.inputs[0] ?? null;
    const entry = operand?.kind === 'optional' ? operand.entry : operand;
    if (entry === null) throw node.refuse('the optional value is empty');
    return entry;
  }),
};
