import { isStatic } from '../../../base/dim/index.js';
import * as ops from '../../../ops/index.js';
import { elementFor } from '../tensor.js';
import type { ImportedNode } from '../node.js';
import {
  integers,
  type OptionalOperand,
  type ImportedOperand,
  type SequenceOperand,
  TensorOperand,
  truthOperand,
} from '../operand.js';
import { anyElement, type ImportRules } from './rule.js';

/*
 * Sequences and optional values are taken apart while a model is read: how long a sequence is, and whether
 * an optional value is there, must be known then.
 */

/** Length limit of sequences, which are unrolled. */
const mostEntries = 65536;

function sequence(node: ImportedNode, index: number): SequenceOperand {
  const operand = node.inputs[index] ?? null;
  if (operand?.kind === 'sequence') return operand;
  if (operand?.kind === 'optional' && operand.entry?.kind === 'sequence') return operand.entry;
  throw node.refuse(`input ${index} is no sequence`);
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
  const { entries } = sequence(node, 0);
  const values = entries.map((entry) => {
    if (entry.kind !== 'tensor') throw node.refuse('the sequence holds other sequences');
    return entry.valueIn(node.region);
  });
  if (values.length === 0) throw node.refuse('the sequence is empty');
  const axis = node.attributes.int('axis', 0);
  const [first] = entries;
  const whole = node.attributes.flag('new_axis')
    ? ops.stack(values, axis)
    : ops.concat(values, axis);
  return TensorOperand.of(whole, (first as TensorOperand).element);
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
    const { entries } = sequence(node, 0);
    return entries[placeIn(node, 1, entries.length)];
  }),
  SequenceInsert: anyElement(inserted),
  SequenceErase: anyElement((node) => {
    const { entries } = sequence(node, 0);
    const at = node.has(1) ? placeIn(node, 1, entries.length) : entries.length - 1;
    return { kind: 'sequence', entries: entries.toSpliced(at, 1) };
  }),
  SequenceLength: anyElement((node) =>
    TensorOperand.constant(integers([sequence(node, 0).entries.length], [])),
  ),
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
