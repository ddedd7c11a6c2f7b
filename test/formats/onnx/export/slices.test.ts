import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { protobufFor } from '../../../../src/formats/onnx/proto/library.js';
import type { GraphProto } from '../../../../src/formats/onnx/proto/onnx_pb.js';
import { agrees, type Arrays } from './agrees.js';

/*
 * Ranges of axes whose sizes are symbols: bounds as they are written mean the same in ONNX, but for a start from the
 * end of which the range goes back.
 */

type Range = readonly [start: number | null, stop: number | null, step: number];

const bounds = [null, 0, 1, 3, -1, -3] as const;
const ranges: readonly Range[] = [1, 2, -1, -2].flatMap((step) =>
  bounds.flatMap((start) => bounds.map((stop): Range => [start, stop, step])),
);
const counts = [4, 0, 1, 2, 7];

const feeds = counts.map((n): Arrays => ({ x: kn.arange(n * 2).reshape([n, 2]) }));
const dynamic = { x: ['n', null] };

function graphOf(bytes: Uint8Array): GraphProto {
  const { fromBinary, schema } = protobufFor('test');
  return fromBinary(schema.ModelProtoSchema, bytes).graph!;
}

function parts(some: readonly Range[]): Uint8Array {
  return agrees(({ x }) => Object.fromEntries(some.map((range, k) => [`y${k}`, kn.slice(x, range)])), feeds, { dynamic }); // prettier-ignore
}

/** The rows that Slice takes of so many, by the rules that ONNX states. */
function rowsOf(count: number, start: number, end: number, step: number): number[] {
  const clamp = (at: number, low: number, high: number): number => Math.min(Math.max(at, low), high); // prettier-ignore
  const [from, to] = [start, end].map((at) => (at < 0 ? at + count : at));
  const rows: number[] = [];
  if (step > 0) for (let i = clamp(from, 0, count); i < clamp(to, 0, count); i += step) rows.push(i);
  else for (let i = clamp(from, 0, count - 1); i > clamp(to, -1, count - 1); i += step) rows.push(i); // prettier-ignore
  return rows;
}

test('bounds are written as they are where ONNX reads them alike', () => {
  const plain = ranges.filter(([start, , step]) => step > 0 || start === null || start >= 0);
  for (const range of plain) {
    const { node, initializer } = graphOf(parts([range]));
    // Of those that are empty whatever the size is, nothing is cut.
    const slice = node.find(({ opType }) => opType === 'Slice');
    if (slice === undefined) continue;
    assert.deepEqual([...new Set(node.map(({ opType }) => opType))], ['Slice'], String(range));
    const [start, end, , step] = slice.input.slice(1).map((name) => {
      const { rawData, int64Data } = initializer.find((each) => each.name === name)!;
      return Number(int64Data[0] ?? new DataView(rawData.buffer, rawData.byteOffset).getBigInt64(0, true)); // prettier-ignore
    });
    for (const { x } of feeds) {
      const count = x.shape[0];
      const expected = kn.slice(kn.arange(count), range).tolist();
      assert.deepEqual(rowsOf(count, start, end, step), expected, `${range} of ${count}`);
    }
  }
});

test('ranges that go back from a start that may be before the array', () => {
  const others = ranges.filter(([start, , step]) => step < 0 && start !== null && start < 0);
  const kinds = graphOf(parts(others)).node.map(({ opType }) => opType);
  assert.ok(kinds.includes('Shape'), 'their bounds are computed');
});

test('single rows, and flips', () => {
  const some = counts.filter((n) => n > 2).map((n): Arrays => ({ x: kn.arange(n * 2).reshape([n, 2]) })); // prettier-ignore
  const model = agrees(
    ({ x }) => ({ last: kn.slice(x, -1), second: kn.slice(x, 1), before: kn.slice(x, -2, 0), up: kn.flip(x, 0), both: kn.flip(x), none: kn.flip(x, []) }), // prettier-ignore
    some,
    { dynamic },
  );
  const kinds = new Set(graphOf(model).node.map(({ opType }) => opType));
  assert.deepEqual(
    [...kinds].sort(),
    ['Identity', 'Slice', 'Squeeze'].filter((kind) => kinds.has(kind)),
  );
  assert.ok(kinds.has('Slice'));
});
