import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fromOnnx } from '../../../../src/onnx.js';
import {
  floats,
  type Graph,
  ints,
  model,
  type ModelFunction,
  type Node,
  node,
  value,
} from '../models.js';

/** `y = relu(x w + b)`, for any number of rows. */
const dense = (): Uint8Array =>
  model(
    {
      name: 'dense',
      node: [
        node('MatMul', ['x', 'w'], 'p'),
        node('Add', ['p', 'b'], 'h'),
        node('Relu', ['h'], 'y'),
      ],
      input: [value('x', ['batch size', 3])],
      output: [value('y', ['batch size', 2])],
      initializer: [floats('w', [3, 2], [1, -1, 2, 0.5, -3, 4]), floats('b', [2], [0.25, -0.5])],
    },
    {
      producerName: 'somebody',
      metadataProps: [{ key: 'licence', value: 'mine' }],
    },
  );

test('initializers of floats are parameters, named sizes symbols, and metadata is kept', () => {
  const graph = fromOnnx(dense());
  assert.deepEqual([graph.inputNames, graph.outputNames], [['x'], ['y']]);
  assert.deepEqual([...graph.parameters.keys()].sort(), ['b', 'w']);
  assert.equal(String(graph.inferTypes({})['y'].shape), 'batch_size,2');
  assert.equal(graph.model.metadata.get('licence'), 'mine');
  assert.equal(graph.model.producer, 'somebody');
  assert.equal(graph.model.opsets.get(''), 17);
  const expected = (row: readonly number[]): number[] =>
    [[1, 2, -3], [-1, 0.5, 4]].map((column, k) =>
      Math.max(column.reduce((sum, each, i) => sum + each * row[i], [0.25, -0.5][k]), 0),
    ); // prettier-ignore
  for (const rows of [
    [],
    [[1, 2, 3]],
    [
      [1, 0, 0],
      [0, 1, 0],
      [5, 6, -7],
    ],
  ]) {
    // prettier-ignore
    const x = kn.array(new Float32Array(rows.flat()), { shape: [rows.length, 3] });
    assert.deepEqual(graph.run({ x })['y'].tolist(), rows.map(expected));
  }
});

test('imported graphs are differentiated, in inputs and in parameters', () => {
  const graph = fromOnnx(dense());
  const x = kn.array([[1, 2, 0.5]]);
  const w = graph.parameters.get('w')!;
  x.attachGrad();
  w.attachGrad();
  const loss = kn.autograd.record(() => graph.run({ x })['y'].sum());
  loss.backward();
  // h = [3.75, 1.5]: both pass the rectifier.
  assert.deepEqual(x.grad!.tolist(), [[0, 2.5, 1]]);
  assert.deepEqual(w.grad!.tolist(), [[1, 1], [2, 2], [0.5, 0.5]]); // prettier-ignore
  // A step along the gradient is seen by the next run.
  w.assign(w.sub(w.grad!.mul(0.1)));
  assert.ok(graph.run({ x })['y'].sum().item() < loss.item());
});

test('imported graphs become part of captured functions, and travel as JSON', () => {
  const graph = fromOnnx(dense());
  const f = kn.hybridize((x: kn.NDArray) => graph.run({ x: x.mul(2) })['y'].add(1));
  const x = kn.array([[0.5, 1, 1.5]]);
  const eager = graph.run({ x: x.mul(2) })['y'].add(1);
  assert.deepEqual(f(x).tolist(), eager.tolist());
  assert.deepEqual(f(x).tolist(), eager.tolist());
  const again = kn.StaticGraph.fromJSON(graph.toJSON());
  assert.deepEqual(again.run({ x })['y'].tolist(), graph.run({ x })['y'].tolist());
});

test('what is computed from sizes stays a size', () => {
  const graph = fromOnnx(
    model({
      name: 'sizes',
      node: [
        node('Shape', ['x'], 's'),
        node('Gather', ['s', 'first'], 'n'),
        node('Mul', ['n', 'two'], 'm'),
        node('Concat', ['m', 'two'], 't', { axis: 0 }),
        node('Reshape', ['x', 't'], 'y'),
      ],
      input: [value('x', ['n', 4])],
      output: [value('y', [null, null])],
      initializer: [ints('first', [1], [0]), ints('two', [1], [2])],
    }),
  );
  assert.equal(String(graph.inferTypes({})['y'].shape), '2*n,2');
  const x = kn.arange(12).reshape([3, 4]);
  assert.deepEqual(graph.run({ x })['y'].shape, [6, 2]);
});

test('heads are split and joined by shapes that the graph computes', () => {
  const at = (name: string, position: string): Node => node('Gather', ['s', position], name);
  const graph = fromOnnx(
    model({
      node: [
        node('Shape', ['x'], 's'),
        at('b', 'first'),
        at('t', 'second'),
        node('Mul', ['b', 'heads'], 'bh'),
        node('Concat', ['b', 't', 'heads', 'depth'], 'split', { axis: 0 }),
        node('Reshape', ['x', 'split'], 'parts'),
        node('Transpose', ['parts'], 'q', { perm: [0, 2, 1, 3] }),
        node('Transpose', ['parts'], 'k', { perm: [0, 2, 3, 1] }),
        node('MatMul', ['q', 'k'], 'scores'),
        node('Cast', ['t'], 'count', { to: 1 }),
        node('Div', ['scores', 'count'], 'scaled'),
        node('Concat', ['bh', 't', 'minus'], 'flat', { axis: 0 }),
        node('Reshape', ['scaled', 'flat'], 'rows'),
        node('Softmax', ['rows'], 'weights', { axis: -1 }),
        node('Concat', ['b', 'heads', 't', 'minus'], 'whole', { axis: 0 }),
        node('Reshape', ['weights', 'whole'], 'again'),
        node('MatMul', ['again', 'q'], 'mixed'),
        node('Transpose', ['mixed'], 'back', { perm: [0, 2, 1, 3] }),
        node('Div', ['s', 'ones'], 'joined'),
        node('Reshape', ['back', 'joined'], 'merged'),
        node('Add', ['merged', 'x'], 'y'),
      ],
      input: [value('x', ['b', 't', 4])],
      output: [value('y', [null, null, null])],
      initializer: [
        ints('first', [1], [0]),
        ints('second', [1], [1]),
        ints('heads', [1], [2]),
        ints('depth', [1], [2]),
        ints('minus', [1], [-1]),
        ints('ones', [3], [1, 1, 1]),
      ],
    }),
  );
  assert.equal(String(graph.inferTypes({})['y'].shape), 'b,t,4');
  for (const [b, t] of [[2, 5], [3, 1], [1, 7]]) {
    const x = kn.random.normal([b, t, 4]);
    const q = x.reshape([b, t, 2, 2]).swapaxes(1, 2);
    const weights = kn.matmul(q, q.swapaxes(2, 3)).div(t).softmax(-1);
    const expected = kn.matmul(weights, q).swapaxes(1, 2).reshape([b, t, 4]).add(x);
    assert.ok(Number(graph.run({ x })['y'].sub(expected).abs().max().item()) < 1e-5);
  } // prettier-ignore
});

test('a size divided towards zero must not be negative, which a run is asked', () => {
  const graph = fromOnnx(
    model({
      node: [
        node('Shape', ['x'], 's'),
        node('Sub', ['s', 'three'], 'less'),
        node('Div', ['less', 'two'], 'half'),
        node('Max', ['half', 'zero'], 'count'),
        node('Slice', ['x', 'zero', 'count'], 'y'),
      ],
      input: [value('x', ['n'])],
      output: [value('y', [null])],
      initializer: [ints('three', [1], [3]), ints('two', [1], [2]), ints('zero', [1], [0])],
    }),
  );
  for (const [n, count] of [[3, 0], [4, 0], [5, 1], [9, 3]]) {
    assert.deepEqual(graph.run({ x: kn.ones([n]) })['y'].shape, [count]);
  } // prettier-ignore
  assert.throws(() => graph.run({ x: kn.ones([2]) }), kn.ShapeError);
});

test('extrema of nothing are the ends of what a type holds', () => {
  for (const [dtype, code, least, greatest] of [
    ['int64', 7, -(2n ** 63n), 2n ** 63n - 1n],
    ['int32', 6, -(2 ** 31), 2 ** 31 - 1],
    ['uint8', 2, 0, 255],
    ['int8', 3, -128, 127],
    ['float32', 1, -Infinity, Infinity],
  ] as const) {
    const graph = fromOnnx(
      model({
        name: 'nothing',
        node: [
          node('ReduceMax', ['x'], 'max', { keepdims: 0 }),
          node('ReduceMin', ['x'], 'min', { keepdims: 0 }),
        ],
        input: [value('x', [0], code)],
        output: [value('max', [], code), value('min', [], code)],
      }),
    );
    const { max, min } = graph.run({ x: kn.zeros([0], { dtype }) });
    assert.deepEqual([max.item(), min.item()], [least, greatest], dtype);
  }
});

test('loops and branches are operators of the graph, with gradients', () => {
  const body: Graph = {
    name: 'body',
    input: [value('i', [], 7), value('go', [], 9), value('s', [2])],
    node: [
      node('Mul', ['s', 'w'], 't'),
      node('Identity', ['go'], 'still'),
      node('Identity', ['t'], 'row'),
    ],
    output: [value('still', [], 9), value('t', [2]), value('row', [2])],
  };
  const branch = (name: string, op: string): Graph => ({
    name,
    node: [node(op, ['t', 'w'], name)],
    output: [value(name, [2])],
  });
  const graph = fromOnnx(
    model({
      name: 'control',
      node: [
        node('Loop', ['m', '', 'x'], ['t', 'rows'], { body: { graph: body } }),
        node('If', ['c'], 'y', { then_branch: { graph: branch('p', 'Add') }, else_branch: { graph: branch('q', 'Sub') } }),
      ],
      input: [value('m', [], 7), value('c', [], 9), value('x', [2]), value('w', [2])],
      output: [value('y', [2]), value('rows', [null, 2])],
    }),
  ); // prettier-ignore
  const w = kn.array([2, 3]);
  w.attachGrad();
  const feeds = (m: number, c: boolean): Record<string, kn.NDArray> => ({
    m: kn.array(m, { dtype: 'int64' }),
    c: kn.array(c, { dtype: 'bool' }),
    x: kn.array([1, 1]),
    w,
  });
  assert.deepEqual(graph.run(feeds(3, true))['y'].tolist(), [10, 30]);
  assert.deepEqual(graph.run(feeds(2, false))['y'].tolist(), [2, 6]);
  assert.deepEqual(graph.run(feeds(3, true))['rows'].tolist(), [[2, 3], [4, 9], [8, 27]]); // prettier-ignore
  assert.deepEqual(graph.run(feeds(0, true))['rows'].shape, [0, 2]);
  kn.autograd.record(() => graph.run(feeds(3, true))['y'].sum()).backward();
  // d/dw (w^3 + w) = 3 w^2 + 1
  assert.deepEqual(w.grad!.tolist(), [13, 28]);
});

test('functions of the model are written out, with attributes and left out inputs', () => {
  const opsets = [{ domain: '', version: 17n }, { domain: 'mine', version: 1n }]; // prettier-ignore
  const scaled: ModelFunction = {
    name: 'Scaled',
    domain: 'mine',
    input: ['a', 'shift'],
    output: ['c'],
    attribute: ['alpha'],
    opsetImport: opsets,
    node: [
      {
        ...node('LeakyRelu', ['a'], 'b'),
        attribute: [{ name: 'alpha', refAttrName: 'alpha', type: 1 }],
      },
      node('Clip', ['b', 'shift'], 'c'),
    ],
  };
  const call = (input: readonly string[], output: string): ReturnType<typeof node> => ({
    ...node('Scaled', input, output, { alpha: { float: 0.5 } }),
    domain: 'mine',
  });
  const graph = fromOnnx(
    model(
      {
        name: 'calls',
        node: [call(['x'], 'y'), call(['x', 'low'], 'z')],
        input: [value('x', [2])],
        output: [value('y', [2]), value('z', [2])],
        initializer: [floats('low', [], [-0.25])],
      },
      { opsetImport: opsets, functions: [scaled] },
    ),
  );
  const { y, z } = graph.run({ x: kn.array([-2, 4]) });
  assert.deepEqual([y.tolist(), z.tolist()], [[-1, 4], [-0.25, 4]]); // prettier-ignore
});

test('inputs that decide the form of a graph are built in, and the error says which', () => {
  const bytes = model({
    name: 'reduced',
    node: [node('ReduceMax', ['x', 'axes'], 'y', { keepdims: 0 })],
    input: [value('x', [2, null]), value('axes', [1], 7)],
    output: [value('y', [null])],
  }, { opsetImport: [{ domain: '', version: 18n }] }); // prettier-ignore
  assert.throws(() => fromOnnx(bytes), {
    name: 'UnsupportedError',
    message: /ReduceMax \(opset 18\) needs the value of input 1[\s\S]*give the values of "axes"/,
  });
  const axes = { value: kn.array([0], { dtype: 'int64' }) };
  const graph = fromOnnx(bytes, { inputs: { axes } });
  assert.deepEqual(graph.inputNames, ['x']);
  assert.deepEqual(graph.run({ x: kn.array([[1, 5], [4, 2]]) })['y'].tolist(), [4, 5]); // prettier-ignore
  assert.throws(() => fromOnnx(bytes, { inputs: { axis: axes } }), {
    name: 'ArgumentError',
    message: /no input axis/,
  });
  const wrong = { axes: { value: kn.array([0]) } };
  assert.throws(() => fromOnnx(bytes, { inputs: wrong }), {
    name: 'ArgumentError',
    message: /another dtype/,
  });
});

test('element types that Kaon lacks wrap as their own arithmetic does', () => {
  const graph = fromOnnx(
    model({
      name: 'narrow',
      node: [
        node('Add', ['a', 'b'], 'y'),
        node('Less', ['a', 'b'], 'isLess'),
        node('Cast', ['y'], 'z', { to: 1 }),
      ],
      input: [value('a', [3], 4), value('b', [3], 4)],
      output: [value('y', [3], 4), value('isLess', [3], 9), value('z', [3])],
    }),
  );
  assert.equal(graph.model.elements.get('a'), 'uint16');
  const { y, isLess, z } = graph.run({
    a: kn.array([65535, 7, 40000], { dtype: 'int32' }),
    b: kn.array([2, 8, 40000], { dtype: 'int32' }),
  });
  assert.deepEqual(y.tolist(), [1, 15, 80000 - 65536]);
  assert.deepEqual(isLess.tolist(), [false, true, false]);
  assert.deepEqual(z.tolist(), [1, 15, 80000 - 65536]);
});

test('unsigned integers of 64 bits are compared and divided as what they are', () => {
  const graph = fromOnnx(
    model({
      name: 'wide',
      node: [
        node('Div', ['a', 'b'], 'q'),
        node('Mod', ['a', 'b'], 'r'),
        node('Greater', ['a', 'b'], 'g'),
      ],
      input: [value('a', [4], 13), value('b', [4], 13)],
      output: [value('q', [4], 13), value('r', [4], 13), value('g', [4], 9)],
    }),
  );
  const a = [2n ** 64n - 1n, 10n, 2n ** 63n, 5n];
  const b = [10n, 2n ** 63n + 1n, 3n, 5n];
  const signed = (list: readonly bigint[]): kn.NDArray =>
    kn.array(BigInt64Array.from(list, (each) => BigInt.asIntN(64, each)));
  const { q, r, g } = graph.run({ a: signed(a), b: signed(b) });
  const unsigned = (x: kn.NDArray): bigint[] =>
    (x.tolist() as bigint[]).map((each) => BigInt.asUintN(64, each));
  assert.deepEqual(
    unsigned(q),
    a.map((each, i) => each / b[i]),
  );
  assert.deepEqual(
    unsigned(r),
    a.map((each, i) => each % b[i]),
  );
  assert.deepEqual(
    g.tolist(),
    a.map((each, i) => each > b[i]),
  );
});

test('random operators draw anew in each run, from the generator that seed sets', () => {
  const graph = fromOnnx(
    model({
      name: 'random',
      node: [
        node('RandomNormal', [], 'y', { shape: [1000] }),
        node('RandomUniformLike', ['y'], 'z'),
        node('Bernoulli', ['z'], 'b'),
      ],
      input: [],
      output: [value('y', [1000]), value('z', [1000]), value('b', [1000])],
    }),
  );
  assert.deepEqual(graph.outputNames, ['y', 'z', 'b']);
  kn.random.seed(7);
  const first = graph.run({});
  const second = graph.run({});
  kn.random.seed(7);
  const again = graph.run({});
  assert.deepEqual(again['y'].tolist(), first['y'].tolist());
  assert.deepEqual(again['b'].tolist(), first['b'].tolist());
  assert.notDeepEqual(second['y'].tolist(), first['y'].tolist());
  // Means of 1000 draws, five standard errors wide.
  assert.ok(Math.abs(Number(first['y'].mean().item())) < 5 / Math.sqrt(1000));
  assert.ok(Math.abs(Number(first['z'].mean().item()) - 0.5) < 5 * Math.sqrt(1 / 12000));
  assert.ok(Math.abs(Number(first['b'].mean().item()) - 0.5) < 5 * Math.sqrt(1 / 4000));
});

test('sequences are inputs and outputs of their own', () => {
  const type = { case: 'sequenceType' as const, value: { elemType: value('', []).type } };
  const graph = fromOnnx(
    model({
      name: 'sequences',
      node: [node('SequenceInsert', ['s', 'x'], 'y'), node('SequenceLength', ['y'], 'n')],
      input: [{ name: 's', type: { value: type } }, value('x', [1])],
      output: [{ name: 'y', type: { value: type } }, value('n', [], 7)],
    } as Graph),
    { inputs: { s: [{ shape: [2] }, { shape: ['k'] }] } },
  );
  assert.deepEqual(graph.inputNames, ['s.0', 's.1', 'x']);
  const results = graph.run({ 's.0': [1, 2], 's.1': [3], x: [4] });
  assert.deepEqual(Object.keys(results), ['y.0', 'y.1', 'y.2', 'n']);
  assert.deepEqual(results['y.2'].tolist(), [4]);
  assert.equal(results['n'].item(), 3n);
});

test('without the library for protocol buffers the error says what to install', () => {
  const onnx = new URL('../../../../src/onnx.js', import.meta.url).href;
  const program = `
    import { register } from 'node:module';
    const hooks = 'export async function resolve(name, context, next) {' +
      ' if (name.startsWith("@bufbuild/")) throw new Error("not installed");' +
      ' return next(name, context); }';
    register('data:text/javascript,' + encodeURIComponent(hooks));
    const { fromOnnx } = await import(${JSON.stringify(onnx)});
    try { fromOnnx(new Uint8Array()); } catch (error) { console.log(error.name, error.advice); }`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  assert.equal(
    stdout.trim(),
    'UnsupportedError install it beside kaon: npm install @bufbuild/protobuf',
  );
});

test('windows of a convolution may have symbolic sizes', () => {
  const conv = node('Conv', ['x', 'w'], 'y', { pads: [1, 2], dilations: [2], strides: [2] });
  const graph = fromOnnx(
    model({
      name: 'g',
      node: [conv],
      input: [value('x', ['n', 2, 'time']), value('w', [3, 2, 'taps'])],
      output: [value('y', [null, 3, null])],
    }),
  );
  for (const [n, time, taps] of [
    [2, 9, 3],
    [1, 4, 1],
    [2, 12, 5],
  ]) {
    const x = kn.random.normal([n, 2, time]);
    const w = kn.random.normal([3, 2, taps]);
    const [rows, filters] = [x.tolist(), w.tolist()] as [number[][][], number[][][]];
    const count = Math.floor((time + 3 - (2 * (taps - 1) + 1)) / 2) + 1;
    const { y } = graph.run({ x, w });
    assert.deepEqual(y.shape, [n, 3, count]);
    (y.tolist() as number[][][]).forEach((image, i) =>
      image.forEach((row, filter) =>
        row.forEach((found, place) => {
          let expected = 0;
          for (const channel of [0, 1]) {
            for (let tap = 0; tap < taps; tap++) {
              const at = 2 * place - 1 + 2 * tap;
              expected += filters[filter][channel][tap] * (rows[i][channel][at] ?? 0);
            }
          }
          assert.ok(Math.abs(found - expected) < 1e-5, `${found}, not ${expected}`);
        }),
      ),
    );
  }
});

test('borders whose width is not known are refused where they count', () => {
  const pool = node('AveragePool', ['x'], 'y', {
    kernel_shape: [3],
    strides: [2],
    auto_pad: 'SAME_UPPER',
    count_include_pad: 1,
  });
  const bytes = model({
    name: 'g',
    node: [pool],
    input: [value('x', [1, 1, 'time'])],
    output: [value('y', [1, 1, null])],
  });
  assert.throws(() => fromOnnx(bytes), /AveragePool \(opset 17\).*width of the border/);
  // x = 1 1 1 1 and a zero behind it: windows 1 1 1 and 1 1 0.
  const known = fromOnnx(bytes, { inputs: { x: { shape: [1, 1, 4] } } });
  const [means] = (known.run({ x: kn.ones([1, 1, 4]) })['y'].tolist() as number[][][])[0];
  assert.ok(Math.abs(means[0] - 1) < 1e-6 && Math.abs(means[1] - 2 / 3) < 1e-6, String(means));
});

test('sequences of a pool are counted in rows, at each distance, and weighed', () => {
  const pool = [[2], [5], [5, 4], [2, 5], [3, 3]];
  const weights = [1, 0.5, 2, -3, 4];
  const graphIn = (mode: string): kn.StaticGraph => {
    const count = node('TfIdfVectorizer', ['x'], 'y', {
      mode,
      min_gram_length: 1,
      max_gram_length: 2,
      max_skip_count: 2,
      ngram_counts: [0, 2],
      ngram_indexes: [0, 1, 2, 3, 4],
      pool_int64s: pool.flat(),
    });
    count.attribute!.push({ name: 'weights', type: 6, floats: weights });
    const graph = { name: 'g', node: [count], input: [value('x', ['n', 7], 6)], output: [value('y', ['n', 5])] }; // prettier-ignore
    return fromOnnx(model(graph));
  };
  const rows = [
    [2, 5, 4, 4, 2, 5, 5],
    [3, 3, 3, 1, 3, 0, 2],
  ];
  const counts = rows.map((row) =>
    pool.map((pattern) => {
      const steps = pattern.length === 1 ? [1] : [1, 2, 3];
      const starts = steps.flatMap((step) => row.map((_, at) => ({ at, step })));
      return starts.filter(({ at, step }) => pattern.every((each, k) => row[at + k * step] === each)).length; // prettier-ignore
    }),
  );
  const x = kn.array(rows, { dtype: 'int32' });
  const weighed = (of: (count: number) => number): number[][] =>
    counts.map((row) => row.map((count, k) => of(count) * weights[k]));
  assert.deepEqual(graphIn('TF').run({ x })['y'].tolist(), counts);
  assert.deepEqual(graphIn('TFIDF').run({ x })['y'].tolist(), weighed((count) => count)); // prettier-ignore
  assert.deepEqual(graphIn('IDF').run({ x })['y'].tolist(), weighed((count) => Math.min(count, 1))); // prettier-ignore
  assert.throws(() => graphIn('BM25'), /TfIdfVectorizer \(opset 17\): no such mode/);
});
