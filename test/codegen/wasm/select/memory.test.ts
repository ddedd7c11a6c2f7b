import { test } from 'node:test';
import * as e from '../../../../src/loop/language/build.js';
import type { Expr, ElementKind } from '../../../../src/loop/language/nodes.js';
import { agree, edges, fill, type Filled } from '../harness.js';

const storages: readonly ElementKind[] = ['f32', 'f64', 'i32', 'i64', 'i8', 'u8', 'u16'];
const length = 40;

function lanesOf(storage: ElementKind): readonly number[] {
  return e.storageBytes(storage) === 8 ? [1, 2] : [1, 2, 4];
}

function filled(name: string, storage: ElementKind): Filled {
  const values = edges[e.loadedScalar(storage)];
  const elements = fill(
    storage,
    Array.from({ length }, (_, at) => values[(7 * at + 3) % values.length]),
  );
  return { buffer: e.buffer(name, storage), elements };
}

/** Copies elements between buffers of every storage kind through the given indices. */
function copies(from: (lanes: number) => Expr, to: (lanes: number) => Expr): void {
  for (const storage of storages)
    for (const lanes of lanesOf(storage)) {
      const [source, target] = [filled('source', storage), filled('target', storage)];
      new Uint8Array(target.elements.buffer).fill(0);
      const value = e.load(source.buffer, from(lanes));
      agree(e.store(target.buffer, to(lanes), value), [source, target]);
    }
}

const vector = (start: number, stride: number, lanes: number): Expr =>
  lanes === 1 ? e.i32(start) : e.ramp(start, stride, lanes);

test('contiguous, reversed and strided lanes', () => {
  for (const stride of [1, -1, 2, 3, 0])
    copies(
      (lanes) => vector(5, stride, lanes),
      (lanes) => vector(7, 1, lanes),
    );
  for (const stride of [-1, 2, 5])
    copies(
      (lanes) => vector(3, 1, lanes),
      (lanes) => vector(20, stride, lanes),
    );
});

test('lanes that are stored to one element leave the last of them', () => {
  copies(
    (lanes) => vector(4, 1, lanes),
    (lanes) => vector(9, 0, lanes),
  );
});

test('indices that are read from memory', () => {
  const indices: Filled = {
    buffer: e.buffer('indices', 'i32'),
    elements: Int32Array.from([3, 0, 17, 3, 8, 39, 1, 2]),
  };
  for (const storage of storages)
    for (const lanes of lanesOf(storage)) {
      const at = e.load(indices.buffer, vector(1, 1, lanes));
      const [source, target] = [filled('source', storage), filled('target', storage)];
      const gather = e.store(
        target.buffer,
        vector(2, 1, lanes),
        e.load(source.buffer, e.add(at, e.broadcast(e.i32(0), lanes))),
      );
      const scatter = e.store(target.buffer, at, e.load(source.buffer, vector(6, 1, lanes)));
      agree(e.block(gather, scatter), [source, target, indices]);
    }
});

test('indices whose stride is known only at run time', () => {
  const parameter: Filled = {
    buffer: e.buffer('stride', 'i32'),
    elements: Int32Array.from([3]),
  };
  const stride = e.load(parameter.buffer, 0);
  for (const storage of storages)
    for (const lanes of lanesOf(storage).slice(1)) {
      const [source, target] = [filled('source', storage), filled('target', storage)];
      const at = e.add(e.mul(e.ramp(1, stride, lanes), 2), e.ramp(0, 1, lanes));
      agree(e.store(target.buffer, e.ramp(2, stride, lanes), e.load(source.buffer, at)), [
        source,
        target,
        parameter,
      ]);
    }
});

test('index arithmetic: constants, products, differences and shifts', () => {
  const source = filled('source', 'f32');
  const forms: readonly ((i: Expr) => Expr)[] = [
    (i) => e.add(i, 3),
    (i) => e.add(e.add(i, -2), 9),
    (i) => e.sub(e.mul(e.add(i, 4), 2), i),
    (i) => e.sub(30, i),
    (i) => e.shl(e.add(i, 1), 1),
    (i) => e.add(e.sub(i, 500), 505),
    (i) => e.add(e.sub(i, 100_000), 100_003),
    (i) => e.mul(e.add(i, 2), e.i32(1)),
    (i) => e.div(e.mul(e.add(i, 3), 4), 2),
    (i) => e.and(e.xor(i, 5), 15),
  ];
  for (const form of forms)
    for (const lanes of [1, 2, 4]) {
      const target = filled('target', 'f32');
      const body = e.forLoop('i', 0, 8, (i) => {
        const index = lanes === 1 ? i : e.ramp(i, 1, lanes);
        return e.store(target.buffer, e.add(index, 1), e.load(source.buffer, form(index)));
      });
      agree(body, [source, target]);
    }
});

test('a scalar load that fills all lanes', () => {
  for (const storage of storages)
    for (const lanes of lanesOf(storage).slice(1)) {
      const [source, target] = [filled('source', storage), filled('target', storage)];
      const value = e.broadcast(e.load(source.buffer, 11), lanes);
      agree(e.store(target.buffer, e.ramp(0, 1, lanes), value), [source, target]);
    }
});

test('uniform vectors of indices', () => {
  const [source, target] = [filled('source', 'f32'), filled('target', 'f32')];
  const body = e.forLoop('i', 0, 9, (i) => {
    const row = e.mul(e.broadcast(e.div(i, 3), 4), 12);
    return e.store(
      target.buffer,
      e.add(e.ramp(i, 1, 4), e.rem(row, e.broadcast(e.i32(7), 4))),
      e.load(source.buffer, e.add(row, e.broadcast(e.rem(i, 3), 4))),
    );
  });
  agree(body, [source, target]);
});

test('ramps as values', () => {
  for (const lanes of [2, 4])
    for (const stride of [1, -3, 0]) {
      const target = filled('target', 'i32');
      const body = e.forLoop('i', 0, 3, (i) =>
        e.block(
          e.store(target.buffer, e.ramp(e.mul(i, 8), 1, lanes), e.ramp(i, stride, lanes)),
          e.store(target.buffer, e.ramp(e.add(e.mul(i, 8), 4), 1, lanes), e.ramp(7, i, lanes)),
        ),
      );
      agree(body, [target]);
    }
});
