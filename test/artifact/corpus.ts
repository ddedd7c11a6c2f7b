import * as kn from '../../src/index.js';

/** A graph, and feeds of several sizes. */
export interface Case {
  readonly graph: kn.StaticGraph;
  readonly feeds: readonly Readonly<Record<string, kn.NDArray>>[];
  /** Whether it changes its own state. */
  readonly train?: boolean;
}

/** Feeds by the names that a graph gives its inputs. */
function named(graph: kn.StaticGraph, arrays: readonly kn.NDArray[]): Record<string, kn.NDArray> {
  return Object.fromEntries(graph.inputNames.map((name, i) => [name, arrays[i]]));
}

function captured<A extends kn.NDArray[]>(
  fn: (...args: A) => unknown,
  examples: readonly A[],
  dynamic?: readonly (readonly (string | null)[] | null)[],
): Case {
  const hybrid = kn.hybridize(fn, dynamic === undefined ? {} : { dynamic });
  const graph = hybrid.graphFor(...examples[0]);
  return { graph, feeds: examples.map((arrays) => named(graph, arrays)) };
}

const { normal } = kn.random;

/** Graphs of many kinds, made anew for each test, with values that a seed decides. */
export const corpus: Readonly<Record<string, () => Case>> = {
  'sizes that two masks decide': () => {
    const meet = (x: kn.NDArray, m: kn.NDArray, n: kn.NDArray): unknown => {
      const [p, q] = [kn.booleanMask(x, m), kn.booleanMask(x.add(1), n)];
      const joined = kn.cond(p.sum().greater(2), () => kn.einsum('i,i->i', p, q), () => q); // prettier-ignore
      return { sum: joined.add(p), joined, p, q };
    };
    const x = kn.array([1, 2, 3, 4]);
    const bits = ['1011 0111', '0001 1100', '1100 0001', '0000 0001', '0010 0000'];
    const masks = bits.map((each) => each.split(' ').map((m) => kn.array([...m].map((bit) => bit === '1')))); // prettier-ignore
    return captured(meet, masks.map(([m, n]): [kn.NDArray, kn.NDArray, kn.NDArray] => [x, m, n])); // prettier-ignore
  },
  'channels of a convolution that two masks decide, and its gradients': () => {
    const [x, w] = [normal([4, 5]), normal([4, 3])];
    const loss = (x: kn.NDArray, w: kn.NDArray, m: kn.NDArray, n: kn.NDArray): kn.NDArray => {
      const [p, q] = [kn.booleanMask(x, m), kn.booleanMask(w, n)].map((rows) => kn.expandDims(rows, 0)); // prettier-ignore
      return kn.conv1d(p, q, { padding: 1 }).square().sum();
    };
    const step = (m: kn.NDArray, n: kn.NDArray): unknown =>
      kn.valueAndGrad((x: kn.NDArray, w: kn.NDArray) => loss(x, w, m, n), [0, 1])(x, w);
    const bits = ['1011 0111', '0001 1000', '0000 0000', '1111 1111'];
    const masks = bits.map((each) => each.split(' ').map((m) => kn.array([...m].map((bit) => bit === '1')))); // prettier-ignore
    return captured(step, masks.map(([m, n]): [kn.NDArray, kn.NDArray] => [m, n])); // prettier-ignore
  },
  'gradients of a branch whose result is twice a size that it decides': () => {
    const loss = (x: kn.NDArray, first: kn.NDArray): kn.NDArray => {
      const some = (): kn.NDArray => kn.booleanMask(x, x.greater(0));
      const chosen = kn.cond(first, () => kn.concat([some(), some().square()]), () => x.mul(3)); // prettier-ignore
      return chosen.add(1).square().sum();
    };
    const slope = (x: kn.NDArray, first: kn.NDArray): kn.NDArray => kn.grad(loss, [0])(x, first)[0];
    const both = (x: kn.NDArray, first: kn.NDArray): unknown => [
      slope(x, first),
      kn.grad((y: kn.NDArray) => slope(y, first).square().sum())(x),
    ];
    const examples = [[1, -2, 3], [-1], [2, 4], []].flatMap((x) =>
      [true, false].map((bit): [kn.NDArray, kn.NDArray] => [kn.array(x), kn.array(bit)]),
    );
    return captured(both, examples, [['n'], null]);
  },
  'gradients of loops whose bodies are passed sizes': () => {
    const loss = (x: kn.NDArray): kn.NDArray => {
      const some = kn.booleanMask(x, x.greater(0));
      const state = kn.foreach((t: kn.NDArray, s: kn.NDArray) => [[], s.add(some.sum().mul(t)).sin()], kn.arange(3), x.sum())[1]; // prettier-ignore
      const [, [, last]] = kn.whileLoop((i: kn.NDArray) => i.less(3), (i: kn.NDArray, s: kn.NDArray) => [[], [i.add(1), s.mul(0.5).add(some.mean())]], [kn.array(0), some], { maxIterations: 4 }); // prettier-ignore
      return last.square().sum().add(state);
    };
    const slope = (x: kn.NDArray): kn.NDArray => kn.grad(loss)(x);
    const both = (x: kn.NDArray): unknown => [slope(x), kn.grad((y: kn.NDArray) => slope(y).square().sum())(x)]; // prettier-ignore
    const examples = [[1, -2, 3], [0.5], [2, 4, 1, -1]].map((x): [kn.NDArray] => [kn.array(x)]);
    return captured(both, examples, [['n']]);
  },
  'conversions that would round twice by way of float32': () => {
    const near = [1 + 2 ** -11 + 2 ** -40, 1 + 2 ** -8 + 2 ** -40, 65520 * (1 - 2 ** -50), -(2 ** -25) * (1 + 2 ** -40)]; // prettier-ignore
    const great = [2n ** 62n + 2n ** 54n + 1n, -(2n ** 60n) - 2n ** 36n - 1n, 257n, -1n];
    const convert = (x: kn.NDArray, n: kn.NDArray): unknown => [
      ...(['float16', 'bfloat16', 'float32'] as const).map((to) => x.astype(to)),
      ...(['bfloat16', 'float32'] as const).map((to) => n.astype(to)),
    ];
    const given: [kn.NDArray, kn.NDArray] = [
      kn.array(near, { dtype: 'float64' }),
      kn.array(great, { dtype: 'int64' }),
    ];
    return captured(convert, [given]);
  },
  'a network': () => {
    const net = new kn.nn.Sequential(
      new kn.nn.Dense(16, { activation: 'relu' }),
      new kn.nn.LayerNorm(),
      new kn.nn.Dense(3),
    ).initialize();
    return captured((x: kn.NDArray) => net.call(x).softmax(), [[normal([5, 8])]]);
  },
  'a network for any batch': () => {
    const net = new kn.nn.Sequential(
      new kn.nn.Dense(9, { activation: 'tanh' }),
      new kn.nn.Dense(4),
    ).initialize();
    const batches = [3, 0, 1, 7, 40].map((n): [kn.NDArray] => [normal([n, 6])]);
    return captured((x: kn.NDArray) => net.call(x), batches, [['n', null]]);
  },
  'a convolutional network': () => {
    const net = new kn.nn.Sequential(
      new kn.nn.Conv2d(4, 3, { padding: 1, activation: 'relu' }),
      new kn.nn.BatchNorm(),
      new kn.nn.MaxPool2d(2),
      new kn.nn.Conv2d(3, 3),
      new kn.nn.GlobalAvgPool2d(),
    ).initialize();
    return captured((x: kn.NDArray) => net.call(x), [[normal([2, 3, 9, 8])]]);
  },
  'an LSTM for any length': () => {
    const cell = new kn.nn.LSTMCell(6);
    cell.initialize();
    const run = (x: kn.NDArray): unknown =>
      kn.foreach((slice, states) => cell.call(slice, states), x, cell.beginState(2));
    const lengths = [4, 0, 1, 9].map((length): [kn.NDArray] => [normal([length, 2, 5])]);
    return captured(run, lengths, [['time', null, null]]);
  },
  'a recurrence of many units for any length': () => {
    const weights = normal([260, 260]).mul(0.05);
    const run = (x: kn.NDArray): unknown =>
      kn.foreach(
        (row, h) => {
          const next = row.add(h.matmul(weights)).tanh();
          return [next.mul(2), next];
        },
        x,
        kn.zeros([32, 260]),
      );
    const lengths = [3, 0, 1].map((length): [kn.NDArray] => [normal([length, 32, 260])]);
    return captured(run, lengths, [['time', null, null]]);
  },
  'loops and branches': () =>
    captured(
      (x: kn.NDArray, n: kn.NDArray) => {
        const [rows, [, last], iterations] = kn.whileLoop(
          (k: kn.NDArray) => k.less(n),
          (k: kn.NDArray, s: kn.NDArray) => [s, [k.add(1), s.mul(1.5).tanh()]],
          [kn.array(0, { dtype: 'int32' }), x],
          { maxIterations: 6, padded: true },
        );
        const branch = kn.cond(x.sum().greater(0), () => x.exp(), () => x.neg()); // prettier-ignore
        return { rows, last, iterations, branch };
      },
      [9, 4, 0, 2].map((n): [kn.NDArray, kn.NDArray] => [
        normal([3]),
        kn.array(n, { dtype: 'int32' }),
      ]),
    ),
  attention: () =>
    captured(
      (x: kn.NDArray) => {
        const scores = x.matmul(x.transpose()).div(2).softmax();
        return scores.matmul(x);
      },
      [3, 1, 17].map((n): [kn.NDArray] => [normal([n, 4])]),
      [['n', null]],
    ),
  'positions, truth values and integers': () =>
    captured(
      (table: kn.NDArray, at: kn.NDArray, mask: kn.NDArray) => ({
        taken: table.take(at, { axis: 0 }),
        chosen: kn.where(mask, at, at.neg()),
        none: mask.logicalNot(),
        sorted: kn.argsort(table, 0),
      }),
      [
        [
          normal([5, 3]),
          kn.array([4, 0, 2], { dtype: 'int64' }),
          kn.array([true, false, true], { dtype: 'bool' }),
        ],
      ],
    ),
  'halves and doubles': () =>
    captured(
      (half: kn.NDArray, brain: kn.NDArray, double: kn.NDArray, byte: kn.NDArray) => ({
        half: half.mul(2),
        brain: brain.exp(),
        double: double.sum(0),
        byte: byte.add(byte),
      }),
      [
        [
          normal([7]).astype('float16'),
          normal([7]).astype('bfloat16'),
          normal([3, 2]).astype('float64'),
          kn.array([1, 2, 200], { dtype: 'uint8' }),
        ],
      ],
    ),
  'outputs that are inputs, constants, and one another': () =>
    captured(
      (x: kn.NDArray, y: kn.NDArray) => {
        const sum = x.add(y);
        return { x, flat: x.reshape([6]), sum, again: sum, three: kn.full([2], 3), y };
      },
      [[normal([2, 3]), normal([])]],
    ),
  'a training step': () => {
    const net = new kn.nn.Sequential(
      new kn.nn.Dense(8, { activation: 'tanh' }),
      new kn.nn.BatchNorm(),
      new kn.nn.Dropout(0.3),
      new kn.nn.Dense(2),
    ).initialize();
    const batches = [1, 2, 3].map((): [kn.NDArray, kn.NDArray] => [
      normal([4, 3]),
      kn.array([0, 1, 1, 0], { dtype: 'int32' }),
    ]);
    net.call(batches[0][0]);
    const optimizer = new kn.optim.Adam(net.parameters(), { learningRate: 0.01 });
    const step = (x: kn.NDArray, y: kn.NDArray): kn.NDArray => {
      const loss = kn.autograd.record(() => kn.nn.loss.softmaxCrossEntropy(net.call(x), y));
      loss.backward();
      optimizer.step();
      return loss;
    };
    return { ...captured(step, batches), train: true };
  },
  'selections of selections': () =>
    captured(
      (x: kn.NDArray, y: kn.NDArray) => {
        const positive = x.booleanMask(x.greater(0));
        const large = positive.booleanMask(positive.greater(positive.mean()));
        const rows = kn.booleanMask(y, x.less(1));
        return {
          positive,
          sum: large.mul(large).sum(),
          products: rows.matmul(rows.transpose()),
          x,
        };
      },
      [6, 0, 1, 33].map((n): [kn.NDArray, kn.NDArray] => [normal([n]), normal([n, 3])]),
      [['n'], ['n', null]],
    ),
  'what differs, and where': () =>
    captured(
      (x: kn.NDArray) => {
        const { values, inverse, counts } = kn.unique(x, {
          returnInverse: true,
          returnCounts: true,
        });
        return { values, back: values.take(inverse, { axis: 0 }), counts, where: kn.nonzero(x) };
      },
      [7, 1, 0, 20].map((n): [kn.NDArray] => [kn.random.randint(-2, 3, [n], { dtype: 'int32' })]),
      [['n']],
    ),
  'branches of different sizes': () =>
    captured(
      (x: kn.NDArray, y: kn.NDArray) => {
        const chosen = kn.cond(
          x.sum().greater(0),
          () => kn.booleanMask(y, y.greater(0)),
          () => y.slice([0, 2]),
        );
        return { chosen, doubled: chosen.mul(2), total: chosen.sum() };
      },
      [1, -1, 1].map((sign): [kn.NDArray, kn.NDArray] => [kn.full([2], sign), normal([5])]),
    ),
  'rows for as long as a condition holds': () =>
    captured(
      (n: kn.NDArray, x: kn.NDArray) => {
        const [rows, [, last], iterations] = kn.whileLoop(
          (k: kn.NDArray) => k.less(n),
          (k: kn.NDArray, s: kn.NDArray) => [{ s, k }, [k.add(1), s.mul(1.25).add(x).tanh()]],
          [kn.array(0, { dtype: 'int32' }), x],
          { maxIterations: 200 },
        );
        return { ...rows, last, iterations, sums: rows.s.sum(1) };
      },
      [5, 0, 1, 64, 130, 300].map((n): [kn.NDArray, kn.NDArray] => [
        kn.array(n, { dtype: 'int32' }),
        normal([3]),
      ]),
    ),
  'loops whose bodies select': () =>
    captured(
      (x: kn.NDArray) => {
        const kept = (row: kn.NDArray): kn.NDArray => kn.booleanMask(row, row.greater(0));
        const [sums, total] = kn.foreach(
          (row: kn.NDArray, sum: kn.NDArray) => {
            const positive = kept(row);
            const both = positive.add(kept(row.mul(2)));
            return [{ most: both.sum(), row: row.mul(sum) }, sum.add(positive.sum())];
          },
          x,
          kn.zeros([]),
        );
        const [halves, state] = kn.whileLoop(
          (s: kn.NDArray) => kept(s).sum().greater(1),
          (s: kn.NDArray) => [kept(s).sum(), [s.mul(0.5)]],
          [x.sum(0)],
          { maxIterations: 9, padded: true },
        );
        return { ...sums, total, halves, state };
      },
      [11, 4, 0, 1].map((n): [kn.NDArray] => [normal([n, 6])]),
      [['n', null]],
    ),
  'a loop that returns its rows as they are': () =>
    captured(
      (x: kn.NDArray, y: kn.NDArray) => {
        const [rows] = kn.foreach((row: kn.NDArray) => [row, []], x, []);
        return { rows, sum: x.add(y), y };
      },
      [1, 0, 3].map((n): [kn.NDArray, kn.NDArray] => [normal([n, 2]), normal([2])]),
      [['n', null], []],
    ),
  'a padded loop whose body selects, long runs before short ones': () =>
    captured(
      (n: kn.NDArray, x: kn.NDArray) => {
        const [rows, [, last], iterations] = kn.whileLoop(
          (k: kn.NDArray) => k.less(n),
          (k: kn.NDArray, s: kn.NDArray) => {
            const double = s.mul(2);
            const kept = (each: kn.NDArray): kn.NDArray => kn.booleanMask(each, each.greater(0));
            return [kept(s).add(kept(double)).sum(), [k.add(1), double]];
          },
          [kn.array(0, { dtype: 'int32' }), x],
          { maxIterations: 6, padded: true },
        );
        return { rows, last, iterations };
      },
      [6, 2, 9, 0].map((n): [kn.NDArray, kn.NDArray] => [
        kn.array(n, { dtype: 'int32' }),
        normal([5]).abs(),
      ]),
    ),
  'a training step that selects': () => {
    const weight = kn.array([0.5, -1, 2]);
    weight.attachGrad();
    const step = (x: kn.NDArray): kn.NDArray => {
      const loss = kn.autograd.record(() => {
        const y = x.matmul(weight);
        return kn.booleanMask(y, y.greater(0)).square().sum();
      });
      loss.backward();
      weight.assign(weight.sub(weight.grad!.mul(0.1)));
      return loss;
    };
    const batches = [4, 0, 1, 9].map((n): [kn.NDArray] => [normal([n, 3])]);
    return { ...captured(step, batches, [['n', null]]), train: true };
  },
  'rows of a size that each iteration decides': () => {
    const bits = (...lists: readonly string[]): kn.NDArray =>
      kn.array(lists.map((list) => [...list].map((bit) => bit === '1')));
    const select = (x: kn.NDArray, mask: kn.NDArray): unknown => {
      const [forwards, sum] = kn.foreach(
        ([row, chosen]: [kn.NDArray, kn.NDArray], s: kn.NDArray) => {
          const found = kn.booleanMask(row, chosen).mul(s.add(1));
          return [[found.exp(), found.add(s)], s.add(found.sum())];
        },
        [x, mask] as [kn.NDArray, kn.NDArray],
        kn.zeros([]),
      );
      return { forwards, sum, after: sum.mul(2) };
    };
    const masks = [bits('1010', '0011', '1100'), bits('1110'), bits('0000', '0000'), bits('1111', '1111')]; // prettier-ignore
    const feeds = masks.map((mask): [kn.NDArray, kn.NDArray] => [normal([mask.shape[0] as number, 4]), mask]); // prettier-ignore
    return captured(select, feeds, [['n', null], ['n', null]]); // prettier-ignore
  },
  'states of a size that iterations decide': () => {
    const carried = (x: kn.NDArray, mask: kn.NDArray): unknown =>
      kn.foreach(
        (bits: kn.NDArray, [a, b]: [kn.NDArray, kn.NDArray]) => [
          a.sum(),
          [kn.booleanMask(x, bits).mul(b.sum()), a] as [kn.NDArray, kn.NDArray],
        ],
        mask,
        [kn.ones([2]), kn.zeros([2])] as [kn.NDArray, kn.NDArray],
      );
    const masks = (...lists: readonly string[]): kn.NDArray =>
      kn.array(lists.map((list) => [...list].map((bit) => bit === '1')));
    return captured(carried, [[normal([3]), masks('101', '110')], [normal([3]), masks('011', '101')]]); // prettier-ignore
  },
  'loops within a loop, each as long as the first of them': () => {
    const nested = (n: kn.NDArray, base: kn.NDArray): unknown => {
      const [table, [, last]] = kn.whileLoop(
        (i: kn.NDArray) => i.less(3),
        (i: kn.NDArray, a: kn.NDArray) => {
          const [row, [, b]] = kn.whileLoop(
            (j: kn.NDArray) => j.less(n),
            (j: kn.NDArray, b: kn.NDArray) => [
              [b.mul(2), b.expandDims(0)],
              [j.add(1), b.mul(base)],
            ],
            [kn.array(0), a],
            { maxIterations: 100 },
          );
          return [row, [i.add(1), b]];
        },
        [kn.array(0), kn.array(1)],
        { maxIterations: 5 },
      );
      return { table, last };
    };
    return captured(nested, [4, 1, 70].map((n): [kn.NDArray, kn.NDArray] => [kn.array(n), kn.array(1.01)])); // prettier-ignore
  },
};

/** Graphs of which nobody knows how much memory they need before they run. */
export const unbounded: Readonly<Record<string, () => Case>> = {
  'elements as often as data says': () =>
    captured(
      (x: kn.NDArray, counts: kn.NDArray) => {
        const long = kn.repeat(x, counts);
        return { long, sum: long.exp().sum() };
      },
      [3, 0, 1, 8].map((n): [kn.NDArray, kn.NDArray] => [
        normal([n]),
        kn.random.randint(0, 50, [n], { dtype: 'int32' }),
      ]),
      [['n'], ['n']],
    ),
  'a loop without a limit': () =>
    captured(
      (n: kn.NDArray, x: kn.NDArray) => {
        const [rows, [, last]] = kn.whileLoop(
          (k: kn.NDArray) => k.less(n),
          (k: kn.NDArray, s: kn.NDArray) => [s, [k.add(1), s.mul(1.25).tanh()]],
          [kn.array(0, { dtype: 'int32' }), x],
        );
        return { rows, last };
      },
      [5, 0, 1, 64, 300].map((n): [kn.NDArray, kn.NDArray] => [
        kn.array(n, { dtype: 'int32' }),
        normal([3]),
      ]),
    ),
  'rows of a loop within a loop, both without a limit': () =>
    captured(
      (n: kn.NDArray, m: kn.NDArray) => {
        const [table, [, last]] = kn.whileLoop(
          (i: kn.NDArray) => i.less(m),
          (i: kn.NDArray, a: kn.NDArray) => {
            const [row, [, b]] = kn.whileLoop(
              (j: kn.NDArray) => j.less(n),
              (j: kn.NDArray, b: kn.NDArray) => [
                kn.stack([b, j.astype('float32')]),
                [j.add(1), b.mul(1.01)],
              ],
              [kn.array(0), a],
            );
            return [row, [i.add(1), b]];
          },
          [kn.array(0), kn.array(1)],
        );
        return { table, last };
      },
      [
        [4, 3],
        [1, 1],
        [3, 200],
        [130, 2],
      ].map(([n, m]): [kn.NDArray, kn.NDArray] => [kn.array(n), kn.array(m)]),
    ),
};
