import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { protobufFor } from '../../../../src/formats/onnx/proto/library.js';
import type { GraphProto } from '../../../../src/formats/onnx/proto/onnx_pb.js';
import { fromOnnx } from '../../../../src/onnx.js';
import { model, node, value } from '../models.js';
import { agrees, type Arrays } from './agrees.js';

/*
 * Ranges of axes whose sizes are symbols: bounds as they are written mean the same in ONNX, but for a start from the
 * end of which the range goes back.
 */

type Range = readonly [start: number | null, stop: number | null, step: number];

const bounds = [null, 0, 2, -1, -3] as const;
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
  const { node: nodes, initializer } = graphOf(parts(plain));
  assert.deepEqual(
    nodes.filter(({ opType }) => opType === 'Shape' || opType === 'Max'),
    [],
  );
  let compared = 0;
  for (const [k, range] of plain.entries()) {
    const slice = nodes.find(({ opType, output }) => opType === 'Slice' && output[0] === `y${k}`);
    // Of those that are empty whatever the size is nothing is cut, and equal ones are cut once.
    if (slice === undefined) continue;
    compared++;
    const [start, end, , step] = slice.input.slice(1).map((name) => {
      const { rawData, int64Data } = initializer.find((each) => each.name === name)!;
      return Number(int64Data[0] ?? new DataView(rawData.buffer, rawData.byteOffset).getBigInt64(0, true)); // prettier-ignore
    });
    for (const count of counts) {
      const expected = kn.slice(kn.arange(count), range).tolist();
      assert.deepEqual(rowsOf(count, start, end, step), expected, `${range.join()} of ${count}`);
    }
  }
  assert.ok(compared > plain.length / 2, String(compared));
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

/** A model that takes rows of `x`; with `back`, as many before the end in place of the given start and end. */
function sliceModel(start: number, end: number, step: number, back: boolean): Uint8Array {
  const list = (name: string, ...ints: readonly number[]): ReturnType<typeof node> => node('Constant', [], name, { value_ints: ints }); // prettier-ignore
  // Bounds whose sign depends on the number of rows: `start - n` and `end - n`.
  const less = (name: string): ReturnType<typeof node> => back ? node('Sub', [`${name}0`, 'n'], name) : node('Identity', [`${name}0`], name); // prettier-ignore
  return model(
    {
      name: 'rows',
      node: [node('Shape', ['x'], 'n'), list('start0', start), list('end0', end), less('start'), less('end'), list('axes', 0), list('steps', step), node('Slice', ['x', 'start', 'end', 'axes', 'steps'], 'y')], // prettier-ignore
      input: [value('x', ['n'])],
      output: [value('y', [])],
    },
    { opsetImport: [{ domain: '', version: 18n }] },
  );
}

test('models whose bounds lie before and behind the array are read by the rules of ONNX', () => {
  for (const step of [1, -1, -2]) {
    for (const start of [-9, -2, -1, 2]) {
      for (const end of [-9, -1, 1]) {
        for (const back of [false, true]) {
          const graph = fromOnnx(sliceModel(start, end, step, back));
          for (const count of [3, 1, 5]) {
            const { y } = graph.run({ x: kn.arange(count) });
            const less = back ? count : 0;
            assert.deepEqual(y.tolist(), rowsOf(count, start - less, end - less, step), `${[start, end, step, back].join()} of ${count}`); // prettier-ignore
          }
        }
      }
    }
  }
});
