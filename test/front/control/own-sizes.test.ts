import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { assertClose } from '../../support/close.js';
import { fromOnnx, toOnnx } from '../../../src/onnx.js';

test('a loop over rows of a size that a branch decides is captured once: names of such sizes are not compared', () => {
  const body = (choice: kn.NDArray, a: kn.NDArray, b: kn.NDArray): [kn.NDArray, kn.NDArray] => {
    const rows = kn.cond(choice, () => a, () => b.mul(2)).pad([[1, 2], [0, 0]]); // prettier-ignore
    return kn.foreach((row: kn.NDArray, s: kn.NDArray) => [row.add(s), s.add(row)], rows, kn.zeros([2])); // prettier-ignore
  };
  const captured = kn.hybridize(body, { verify: 'always' });
  const [a, b] = [kn.ones([4, 2]), kn.ones([1, 2])];
  for (const bit of [true, false, true, false]) {
    const choice = kn.array(bit, { dtype: 'bool' });
    const texts = [captured, body].map((f) => f(choice, a, b).map((array) => array.tolist()));
    assert.deepEqual(texts[0], texts[1]);
  }
});

const rows = kn.arange(12).reshape([3, 4]);
const masks = (...lists: readonly string[]): kn.NDArray =>
  kn.array(lists.map((list) => [...list].map((bit) => bit === '1')));
const equal = masks('1010', '1100', '0011');
const unequal = masks('1010', '1110', '0011');

/** What a mask selects of each row, which must be equally many. */
const selected = (x: kn.NDArray, mask: kn.NDArray): kn.NDArray =>
  kn.foreach(
    ([row, bits]: [kn.NDArray, kn.NDArray]) => [kn.booleanMask(row, bits).mul(row.sum()), []],
    [x, mask] as [kn.NDArray, kn.NDArray],
    [],
  )[0];

/** `a` times the powers of `base` up to `n`, in three goes. */
const powers = (n: kn.NDArray, base: kn.NDArray): kn.NDArray =>
  kn.whileLoop(
    (i: kn.NDArray) => i.less(3),
    (i: kn.NDArray, a: kn.NDArray) => {
      const [row, [, b]] = kn.whileLoop(
        (j: kn.NDArray) => j.less(n),
        (j: kn.NDArray, b: kn.NDArray) => [b.mul(2), [j.add(1), b.mul(base)]],
        [kn.array(0), a],
      );
      return [row, [i.add(1), b]];
    },
    [kn.array(0), kn.array(1)],
  )[0];

test('rows may have a size that the data of each iteration decides, if all agree', () => {
  const captured = kn.hybridize(selected, { dynamic: [['n', null], ['n', null]] }); // prettier-ignore
  assert.deepEqual(captured(rows, equal).tolist(), [[0, 12], [88, 110], [380, 418]]); // prettier-ignore
  const [few, fewMasks] = [rows.slice([0, 2]), masks('0111', '1011')];
  assert.deepEqual(captured(few, fewMasks).tolist(), selected(few, fewMasks).tolist());
  assert.equal(captured.explain().traces.length, 1);
  for (const f of [selected, captured, kn.hybridize(selected)]) {
    assert.throws(() => f(rows, unequal), (error) => {
      assert.ok(error instanceof kn.ShapeError);
      assert.match(error.message, /iteration 1: .*output( 0)? changes its shape/);
      assert.match(error.message, /own-sizes\.test/);
      return true;
    }); // prettier-ignore
    // Without an iteration nobody knows.
    assert.throws(() => f(rows.slice([0, 0]), equal.slice([0, 0])), kn.ShapeError);
  }
});

test('gradients of any order through such rows', () => {
  const loss = (x: kn.NDArray, mask: kn.NDArray): kn.NDArray => selected(x, mask).square().sum();
  const first = (x: kn.NDArray, mask: kn.NDArray): kn.NDArray => kn.grad(loss, [0])(x, mask)[0];
  const second = (x: kn.NDArray, mask: kn.NDArray): kn.NDArray =>
    kn.grad((y: kn.NDArray) => first(y, mask).square().sum())(x);
  for (const f of [first, second]) {
    const expected = f(rows, equal);
    assert.deepEqual(kn.hybridize(f)(rows, equal).tolist(), expected.tolist());
  }
  // d/dx of the sum of (s x_k)^2 over selected k, where s = sum x: 2 s (sum of x_k^2) + 2 s^2 x_j where j is selected.
  const [x, bits] = [rows.tolist() as number[][], equal.tolist() as boolean[][]];
  const expected = x.map((row, i) => {
    const sum = row.reduce((a, b) => a + b);
    const squares = row.reduce((total, each, k) => total + (bits[i][k] ? each * each : 0), 0);
    return row.map((each, k) => 2 * sum * squares + (bits[i][k] ? 2 * sum * sum * each : 0));
  });
  assert.deepEqual(first(rows, equal).tolist(), expected);
});

test('gradients through such rows, where the loop runs again for its states', () => {
  const weights = [[1, 2], [3, 4], [5, 6]]; // prettier-ignore
  const loss = (x: kn.NDArray, mask: kn.NDArray): kn.NDArray => {
    const [chosen, last] = kn.foreach(
      ([row, bits]: [kn.NDArray, kn.NDArray], s: kn.NDArray) => [kn.booleanMask(row, bits).exp(), s.add(row.sum()).tanh()],
      [x, mask] as [kn.NDArray, kn.NDArray],
      kn.zeros([]),
    ); // prettier-ignore
    return chosen.mul(kn.array(weights)).sum().add(last);
  };
  const first = (x: kn.NDArray, mask: kn.NDArray): kn.NDArray => kn.grad(loss, [0])(x, mask)[0];
  const second = (x: kn.NDArray, mask: kn.NDArray): kn.NDArray =>
    kn.grad((y: kn.NDArray) => first(y, mask).square().sum())(x);
  const x = rows.mul(0.1);
  // Of an element that is selected the weight times its power, and the slopes of all states from its row on.
  const lists = x.tolist() as number[][];
  const slopes: number[] = [];
  lists.reduce((s, row) => {
    const next = Math.tanh(s + row.reduce((a, b) => a + b));
    slopes.push(1 - next * next);
    return next;
  }, 0);
  const bits = equal.tolist() as boolean[][];
  const expected = lists.map((row, i) => {
    const through = slopes.slice(i).reduce((a, b) => a * b);
    return row.map((each, k) => {
      const place = bits[i].slice(0, k).filter(Boolean).length;
      return through + (bits[i][k] ? weights[i][place] * Math.exp(each) : 0);
    });
  });
  for (const save of ['all', 'none', 'auto'] as const) {
    assertClose(kn.hybridize(first, { save })(x, equal).dataSync(), expected.flat(), 1e-6);
    assertClose(
      kn.hybridize(second, { save })(x, equal).dataSync(),
      second(x, equal).dataSync(),
      1e-5,
    );
  }
});

test('a loop that runs again inside of a gradient has rows of the sizes that it had', () => {
  const [bits, x] = [[true, false, true, false], rows.mul(0.1).sub(0.45)];
  const mask = kn.array(bits);
  const inner = (row: kn.NDArray, options: kn.WhileOptions): kn.NDArray =>
    kn.whileLoop(
      (i: kn.NDArray) => i.less(3),
      (i: kn.NDArray, t: kn.NDArray) => [kn.booleanMask(row, mask).mul(t).exp(), [i.add(1), t.add(row.sum()).tanh()]],
      [kn.array(0), row.sum()],
      options,
    )[0]; // prettier-ignore
  // The same in plain numbers, and its slopes by central differences.
  const plain = (row: readonly number[]): number => {
    const sum = row.reduce((a, b) => a + b);
    let [t, total] = [sum, 0];
    for (let i = 0; i < 3; i++, t = Math.tanh(t + sum)) {
      for (const [k, each] of row.entries()) if (bits[k]) total += Math.exp(each * t);
    }
    return total;
  };
  const step = 1e-5;
  const expected = (x.tolist() as number[][]).flatMap((row) =>
    row.map((each, k) => (plain(row.with(k, each + step)) - plain(row.with(k, each - step))) / (2 * step)),
  ); // prettier-ignore
  for (const options of [{}, { maxIterations: 4, padded: true }]) {
    const loss = (y: kn.NDArray): kn.NDArray => {
      // Rows of padding are zeros.
      const [all] = kn.foreach((row: kn.NDArray) => [inner(row, options), []], y, []);
      return all.sum();
    };
    for (const gradient of [kn.grad(loss), kn.hybridize(kn.grad(loss)), kn.grad(kn.hybridize(loss))]) {
      assertClose(gradient(x).dataSync(), expected, 1e-5);
    } // prettier-ignore
  }
});

test('loops within loops have as many rows as they have iterations', () => {
  const captured = kn.hybridize(powers);
  for (const n of [4, 2, 1]) {
    const expected = Array.from({ length: 3 }, (_, i) => Array.from({ length: n }, (_, j) => 2 * 1.5 ** (n * i + j))); // prettier-ignore
    assert.deepEqual(captured(kn.array(n), kn.array(1.5)).tolist(), expected);
  }
  const slope = (n: kn.NDArray, base: kn.NDArray): kn.NDArray =>
    kn.grad((b: kn.NDArray) => powers(n, b).sum())(base);
  // The sum of 2 b^k for k below 12 has the slope 2 k b^(k - 1).
  const expected = Array.from({ length: 12 }, (_, k) => 2 * k * 1.5 ** (k - 1)).reduce((a, b) => a + b); // prettier-ignore
  for (const f of [slope, kn.hybridize(slope)]) {
    assert.ok(Math.abs(Number(f(kn.array(4), kn.array(1.5)).item()) / expected - 1) < 1e-6);
  }
});

test('a state whose size the data of an iteration decides must come back as it was', () => {
  const carried = (x: kn.NDArray, mask: kn.NDArray): kn.NDArray =>
    kn.foreach(
      (bits: kn.NDArray, state: kn.NDArray) => [[], kn.booleanMask(x, bits).mul(state.sum())],
      mask,
      kn.ones([2]),
    )[1];
  const x = kn.arange(4);
  for (const f of [carried, kn.hybridize(carried)]) {
    assert.deepEqual(f(x, equal).tolist(), [8, 12]);
    assert.throws(() => f(x, unequal), (error) => {
      assert.ok(error instanceof kn.ShapeError);
      assert.match(error.message, /iteration 1: .*state( 0)? changes its shape/);
      return true;
    }); // prettier-ignore
  }
});

test('graphs with such loops travel as JSON and as ONNX', () => {
  const captured = kn.hybridize(powers);
  captured(kn.array(4), kn.array(1.5));
  const graph = captured.graphFor(kn.array(4), kn.array(1.5));
  const [n, base] = graph.inputNames;
  const inputs = { [n]: kn.array(2), [base]: kn.array(1.5) };
  const again = kn.StaticGraph.fromJSON(JSON.parse(JSON.stringify(graph)));
  for (const each of [again, fromOnnx(toOnnx(graph))]) {
    assert.deepEqual(each.run(inputs)['output'].tolist(), [[2, 3], [4.5, 6.75], [10.125, 15.1875]]); // prettier-ignore
  }
});

test('rows whose number is an expression of what an inner loop decides keep it when another result is dropped', () => {
  // Each row is what the inner loop gives, twice: its size is 2 * rows, where the outer loop has a `rows` of its own.
  const body = (x: kn.NDArray, limit: kn.NDArray): kn.NDArray => {
    const [[twice]] = kn.foreach(
      (row: kn.NDArray): [kn.NDArray[], []] => {
        const [counts] = kn.whileLoop(
          (n: kn.NDArray) => n.less(limit),
          (n: kn.NDArray) => [n.mul(row), [n.add(1)]],
          [kn.array(0)],
        );
        return [[kn.tile(counts, [2]), row], []];
      },
      x,
      [],
    );
    return twice;
  };
  const [x, limit] = [kn.array([1, 10]), kn.array(3)];
  const expected = [[0, 1, 2, 0, 1, 2], [0, 10, 20, 0, 10, 20]]; // prettier-ignore
  assert.deepEqual(body(x, limit).tolist(), expected);
  assert.deepEqual(kn.hybridize(body)(x, limit).tolist(), expected);
});
