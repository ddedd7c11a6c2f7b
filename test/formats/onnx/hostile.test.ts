import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { FormatError, GraphError, UnsupportedError } from '../../../src/base/errors.js';
import { fromOnnx, type FromOnnxOptions } from '../../../src/onnx.js';
import { floats, type Graph, ints, model, type Model, node, type Tensor, value } from './models.js';
import { isRead, numbers, withChangedBytes, withChangedParts } from './mutations.js';

type ErrorClass = typeof FormatError | typeof GraphError | typeof UnsupportedError;

function refused(
  bytes: Uint8Array,
  kind: ErrorClass,
  message: RegExp,
  options: FromOnnxOptions = {},
): void {
  assert.throws(
    () => fromOnnx(bytes, options),
    (error: Error) => {
      assert.ok(error instanceof kind, `${error.name}: ${error.message}`);
      assert.match(error.message, message);
      return true;
    },
  );
}

const graphOf = (nodes: Graph['node'], rest: Graph = {}): Graph => ({
  name: 'g',
  node: nodes ?? [],
  input: [value('x', [2])],
  output: [value('y', [2])],
  ...rest,
});

test('bytes that are no model', () => {
  for (const bytes of [
    new Uint8Array(0),
    Uint8Array.of(255, 255, 255),
    new TextEncoder().encode('{"a": 1}'),
  ]) {
    refused(bytes, FormatError, /this is not an ONNX model/);
  }
  refused('model.onnx' as never, FormatError, /the bytes of a model/);
  const whole = model(graphOf([node('Relu', ['x'], 'y')]));
  for (let length = 0; length < whole.length; length++) {
    assert.throws(() => fromOnnx(whole.subarray(0, length)), /FormatError|GraphError|fromOnnx/);
  }
});

test('graphs whose names do not add up', () => {
  const cycle = [node('Add', ['x', 'b'], 'a'), node('Relu', ['a'], 'b'), node('Relu', ['b'], 'y')];
  refused(model(graphOf(cycle)), GraphError, /node 0 of the graph reads "b" before it is computed/);
  refused(
    model(graphOf([node('Relu', ['z'], 'y')])),
    GraphError,
    /reads "z", which nothing defines/,
  );
  refused(
    model(graphOf([node('Relu', ['x'], 'y'), node('Abs', ['x'], 'y')])),
    GraphError,
    /"y" is defined twice/,
  );
  refused(model(graphOf([node('Relu', ['x'], 'x')])), GraphError, /"x" is defined twice/);
  refused(
    model(graphOf([node('Relu', ['x'], 'z')])),
    GraphError,
    /output "y" of the graph is never computed/,
  );
  const twice = graphOf([node('Relu', ['x'], 'y')], { input: [value('x', [2]), value('x', [3])] });
  refused(model(twice), GraphError, /two inputs of the graph are called "x"/);
  const stored = graphOf([node('Add', ['x', 'w'], 'y')], {
    initializer: [floats('w', [2], [1, 2]), floats('w', [1], [1])],
  });
  refused(model(stored), GraphError, /two initializers of the graph are called "w"/);
  const outputs = graphOf([node('Relu', ['x'], 'y')], {
    output: [value('y', [2]), value('y', [2])],
  });
  refused(model(outputs), GraphError, /two outputs named y/);
  const attributes = { ...node('Softmax', ['x'], 'y', { axis: 0 }) };
  attributes.attribute = [...attributes.attribute!, ...attributes.attribute!];
  refused(model(graphOf([attributes])), GraphError, /two attributes "axis"/);
});

test('sizes and counts that are not what the data is', () => {
  const withTensor = (tensor: Tensor): Uint8Array =>
    model(graphOf([node('Add', ['x', 'w'], 'y')], { initializer: [tensor] }));
  const huge = 2 ** 40;
  refused(withTensor({ ...floats('w', [2], [1, 2]), dims: [-2n] }), FormatError, /negative/);
  refused(
    withTensor({ ...floats('w', [2], [1, 2]), dims: [BigInt(huge), BigInt(huge)] }),
    FormatError,
    /too many elements/,
  );
  refused(
    withTensor({ ...floats('w', [2], [1, 2]), dims: [BigInt(huge)] }),
    FormatError,
    /does not fit its shape/,
  );
  refused(withTensor({ ...floats('w', [2], [1, 2]), dims: [2n ** 62n] }), FormatError, /too large/);
  refused(withTensor(floats('w', [3], [1, 2])), FormatError, /"w" does not fit its shape/);
  refused(
    withTensor({ name: 'w', dataType: 1, dims: [2n], floatData: [1] }),
    FormatError,
    /does not fit its shape/,
  );
  refused(
    withTensor({ name: 'w', dataType: 99, dims: [2n], floatData: [1] }),
    FormatError,
    /no element type/,
  );
  refused(
    withTensor({ name: 'w', dataType: 8, dims: [1n], stringData: [new Uint8Array(2)] }),
    UnsupportedError,
    /initializer "w" is of string/,
  );
  refused(withTensor({ name: 'w', dataType: 14, dims: [1n] }), UnsupportedError, /complex64/);
  const sparse = (dims: readonly bigint[], at: readonly number[]): Uint8Array =>
    model(
      graphOf([node('Add', ['x', 'w'], 'y')], {
        sparseInitializer: [
          {
            dims: [...dims],
            values: floats('w', [at.length], at),
            indices: ints('', [at.length], at),
          },
        ],
      }),
    );
  refused(sparse([2n], [5]), FormatError, /an index of initializer "w" is outside/);
  refused(sparse([2n], [-1]), FormatError, /an index of initializer "w" is outside/);
  refused(sparse([BigInt(2 ** 30)], [0]), UnsupportedError, /too many elements/);
  refused(
    model(graphOf([node('Relu', ['x'], 'y')], { input: [value('x', [-1])] })),
    FormatError,
    /negative/,
  );
  refused(
    model(graphOf([node('Relu', ['x'], 'y')], { input: [{ name: 'x' }] })),
    FormatError,
    /has no type/,
  );
});

test('what operators do not accept', () => {
  const one = (...nodes: readonly ReturnType<typeof node>[]): Uint8Array =>
    model(graphOf([...nodes]));
  refused(
    one(node('Concat', ['x'], 'y', { axis: 'one' })),
    FormatError,
    /attribute axis of node 0 is of another kind/,
  );
  refused(
    one(node('Concat', ['x'], 'y', { axis: 7 })),
    GraphError,
    /node 0: Concat \(opset 17\) does not fit/,
  );
  refused(one(node('Relu', [], 'y')), FormatError, /node 0: Relu \(opset 17\) lacks input 0/);
  refused(
    one(node('Frobnicate', ['x'], 'y')),
    UnsupportedError,
    /node 0: Frobnicate \(opset 17\) is not available/,
  );
  refused(one({ ...node('Relu', ['x'], 'y'), domain: 'elsewhere' }), GraphError, /does not import/);
  refused(one(node('Relu', ['x'], ['y', 'z'])), UnsupportedError, /output 1 of Relu/);
  refused(one(node('Cast', ['x'], 'y', { to: 8 })), UnsupportedError, /string/);
  refused(
    one(node('Split', ['x'], ['y', 'z'], { num_outputs: 2 ** 40 })),
    FormatError,
    /number of parts/,
  );
  refused(
    model(graphOf([node('Relu', ['x'], 'y')]), { opsetImport: [{ domain: '', version: 99n }] }),
    UnsupportedError,
    /version 99/,
  );
  refused(
    model(graphOf([node('Relu', ['x'], 'y')]), { opsetImport: [] }),
    GraphError,
    /does not import/,
  );
  const two = {
    opsetImport: [
      { domain: '', version: 17n },
      { domain: 'ai.onnx', version: 18n },
    ],
  };
  refused(model(graphOf([node('Relu', ['x'], 'y')]), two), GraphError, /two versions/);
});

test('external data that is missing, too short, or elsewhere', () => {
  const withData = (entries: Readonly<Record<string, string>>): Uint8Array =>
    model(graphOf([node('Add', ['x', 'w'], 'y')], {
      initializer: [{
        name: 'w', dataType: 1, dims: [2n], dataLocation: 1,
        externalData: Object.entries(entries).map(([key, text]) => ({ key, value: text })),
      }],
    })); // prettier-ignore
  const bytes = new Uint8Array(Float32Array.of(0, 3, 4).buffer);
  const externalData = (name: string): Uint8Array =>
    name === 'w.bin' ? bytes : (undefined as never);
  const whole = fromOnnx(withData({ location: 'w.bin', offset: '4', length: '8' }), {
    externalData,
  });
  assert.deepEqual(whole.run({ x: [1, 1] })['y'].tolist(), [4, 5]);
  refused(withData({ location: 'w.bin' }), FormatError, /lies in another file/);
  refused(withData({ location: 'v.bin' }), FormatError, /"v.bin" is missing/, { externalData });
  refused(withData({}), FormatError, /does not say where/, { externalData });
  refused(withData({ location: 'w.bin', offset: '8' }), FormatError, /does not fit/, {
    externalData,
  });
  refused(withData({ location: 'w.bin', length: '4' }), FormatError, /does not fit/, {
    externalData,
  });
  refused(withData({ location: 'w.bin', offset: '-4' }), FormatError, /is no number/, {
    externalData,
  });
  refused(withData({ location: 'w.bin', offset: '9'.repeat(16) }), FormatError, /does not fit/, {
    externalData,
  });
  for (const location of [
    '../w.bin',
    'a/../../w.bin',
    '/etc/passwd',
    'C:\\w.bin',
    'a\\..\\w.bin',
    '',
    'file:///w.bin',
    'w\0.bin',
    './/w',
  ]) {
    refused(withData({ location }), FormatError, /outside of the model's folder/, { externalData });
  }
});

test('links do not lead out of the folder of external data', () => {
  const folder = mkdtempSync(join(tmpdir(), 'onnx-external-'));
  try {
    mkdirSync(join(folder, 'inside'));
    writeFileSync(join(folder, 'secret.bin'), new Uint8Array(8));
    writeFileSync(join(folder, 'inside', 'w.bin'), new Uint8Array(Float32Array.of(1, 2).buffer));
    symlinkSync(join(folder, 'secret.bin'), join(folder, 'inside', 'link.bin'));
    const at = (location: string): Uint8Array =>
      model(
        graphOf([node('Add', ['x', 'w'], 'y')], {
          initializer: [
            {
              name: 'w',
              dataType: 1,
              dims: [2n],
              dataLocation: 1,
              externalData: [{ key: 'location', value: location }],
            },
          ],
        }),
      );
    const externalData = join(folder, 'inside');
    const { y } = fromOnnx(at('w.bin'), { externalData }).run({ x: [1, 1] });
    assert.deepEqual(y.tolist(), [2, 3]);
    refused(at('link.bin'), FormatError, /outside of its folder/, { externalData });
    refused(at('none.bin'), FormatError, /cannot be read/, { externalData });
    refused(at('w.bin'), FormatError, /cannot be read/, { externalData: join(folder, 'nowhere') });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('graphs and functions that are nested without end', () => {
  let branch: Graph = { name: 'leaf', node: [node('Relu', ['x'], 'r')], output: [value('r', [2])] };
  for (let depth = 0; depth < 60; depth++) {
    const inner = node('If', ['c'], `r${depth}`, {
      then_branch: { graph: branch },
      else_branch: { graph: branch },
    });
    // The else branch would double the file at each level.
    inner.attribute = inner.attribute!.slice(0, 1);
    branch = { name: `g${depth}`, node: [inner], output: [value(`r${depth}`, [2])] };
  }
  const deep = graphOf(branch.node!, {
    input: [value('x', [2]), value('c', [], 9)],
    output: [value('r59', [2])],
  });
  refused(model(deep), FormatError, /recursion depth/);
  const calling = (name: string, body: string, times: number): NonNullable<Model['functions']>[number] => ({
    name, domain: 'f', input: ['a'], output: [`a${times}`], opsetImport: [{ domain: '', version: 17n }, { domain: 'f', version: 1n }],
    node: Array.from({ length: times }, (_, k) => ({ ...node(body, [k === 0 ? 'a' : `a${k}`], `a${k + 1}`), domain: body === 'Relu' ? '' : 'f' })),
  }); // prettier-ignore
  const opsetImport = [
    { domain: '', version: 17n },
    { domain: 'f', version: 1n },
  ];
  const call = graphOf([{ ...node('f0', ['x'], 'y'), domain: 'f' }]);
  refused(
    model(call, { opsetImport, functions: [calling('f0', 'f0', 1)] }),
    FormatError,
    /nested too deeply/,
  );
  const levels = Array.from({ length: 30 }, (_, k) =>
    calling(`f${k}`, k === 29 ? 'Relu' : `f${k + 1}`, 8),
  );
  refused(model(call, { opsetImport, functions: levels }), FormatError, /too many nodes/);
});

test('models that ask for more memory than there is fail when they run', () => {
  const shape = ints('s', [2], [2 ** 30, 2 ** 20]);
  const filled = graphOf([node('ConstantOfShape', ['s'], 'f'), node('ReduceSum', ['f'], 'y', { keepdims: 0 })], {
    initializer: [shape], input: [], output: [value('f', []), value('y', [])],
  }); // prettier-ignore
  const graph = fromOnnx(model(filled));
  assert.throws(
    () => graph.run({}),
    (error: Error) => /^(DeviceError|ShapeError|UnsupportedError)$/.test(error.name),
  );
});

test('small files that ask for much work while they are read', () => {
  const x = value('x', [2]);
  const one = (input: Graph['input'], initializer: Graph['initializer'], each: ReturnType<typeof node>, opset: bigint = 20n): Uint8Array =>
    model({ name: 'g', node: [each], input: input!, initializer: initializer!, output: [value('y', [])] }, { opsetImport: [{ domain: '', version: opset }] }); // prettier-ignore
  // Vectors of sizes that only a run knows, one for each of two thousand million axes.
  const sizes = value('s', [2 ** 31], 7);
  for (const each of [
    node('Expand', ['x', 's'], 'y'),
    node('Reshape', ['x', 's'], 'y'),
    node('Reshape', ['x', 's'], 'y', { allowzero: 1 }),
    node('ConstantOfShape', ['s'], 'y'),
    node('Slice', ['x', 's', 's'], 'y'),
  ]) {
    refused(one([x, sizes], [], each), FormatError, /too many axes/);
  }
  const mel = (...parts: readonly [number, number, number, number, number]): Uint8Array =>
    one([], [ints('n', [], [parts[0]]), ints('l', [], [parts[1]]), ints('r', [], [parts[2]]), floats('a', [], [parts[3]]), floats('b', [], [parts[4]])],
      node('MelWeightMatrix', ['n', 'l', 'r', 'a', 'b'], 'y')); // prettier-ignore
  refused(mel(8, 16, 0, 0, 4000), FormatError, /frequencies are out of range/);
  refused(mel(8, 16, 8192, 0, Infinity), FormatError, /frequencies are out of range/);
  refused(mel(8, 16, 8192, 0, 1e30), FormatError, /frequencies are out of range/);
  refused(mel(8, 16, 8192, -800, 4000), FormatError, /frequencies are out of range/);
  refused(mel(2 ** 40, 0, 8192, 0, 4000), FormatError, /no matrix is as large/);
  refused(
    one([value('x', [1, 5, 2])], [ints('l', [], [2 ** 40])], node('DFT', ['x', 'l'], 'y', { axis: 1, onesided: 1, inverse: 1 }), 17n),
    FormatError,
    /too long/,
  ); // prettier-ignore
  refused(
    one([value('x', [2 ** 40])], [ints('s', [1], [1])], node('Resize', ['x', '', '', 's'], 'y', { mode: 'linear', antialias: 1 })),
    FormatError,
    /out of range/,
  ); // prettier-ignore
});

test('numbers that stand for nothing', () => {
  const relu = graphOf([node('Relu', ['x'], 'y')]);
  refused(model({ ...relu, input: [value('x', [2], 77)] }), FormatError, /element type/);
  refused(model({ ...relu, input: [value('x', [2], -1)] }), FormatError, /element type/);
  const tensor = (more: Tensor): Uint8Array =>
    model(graphOf([node('Add', ['x', 'w'], 'y')], { initializer: [{ ...floats('w', [2], [1, 2]), ...more }] })); // prettier-ignore
  // A closed enumeration without such a number: the field is as good as absent.
  const elsewhere = fromOnnx(tensor({ dataLocation: 7 as never }));
  assert.deepEqual(elsewhere.run({ x: [1, 1] })['y'].tolist(), [2, 3]);
  refused(tensor({ dataType: 0 }), FormatError, /element type/);
  refused(tensor({ dims: [2n ** 63n - 1n] }), FormatError, /too large/);
  refused(tensor({ dims: [2n ** 31n, 2n ** 31n, 0n, 2n ** 31n] }), FormatError, /does not fit/);
  refused(tensor({ dims: [-1n, -2n] }), FormatError, /negative/);
});

/** Models that have something of everything. */
function seeds(): readonly Uint8Array[] {
  const body: Graph = {
    name: 'body',
    input: [value('i', [], 7), value('c', [], 9), value('s', [2])],
    node: [
      node('Add', ['s', 'x'], 't'),
      node('Identity', ['c'], 'd'),
      node('Mul', ['t', 't'], 'row'),
    ],
    output: [value('d', [], 9), value('t', [2]), value('row', [2])],
  };
  const branch = (name: string, op: string): Graph => ({
    name,
    node: [node(op, ['x'], name)],
    output: [value(name, [2])],
  });
  return [
    graphOf([node('Loop', ['m', '', 'x'], ['y', 'rows'], { body: { graph: body } })], { initializer: [ints('m', [], [3])], output: [value('y', [2]), value('rows', [3, 2])] }),
    graphOf([node('If', ['c'], 'y', { then_branch: { graph: branch('p', 'Relu') }, else_branch: { graph: branch('q', 'Abs') } })], { input: [value('x', [2]), value('c', [], 9)] }),
    graphOf([node('Conv', ['x', 'w', 'b'], 'h', { pads: [1, 1, 1, 1], strides: [2, 2] }), node('BatchNormalization', ['h', 'b', 'b', 'b', 'b'], 'n'), node('MaxPool', ['n'], 'y', { kernel_shape: [2, 2], ceil_mode: 1 })], {
      input: [value('x', ['batch', 1, 8, 8])], initializer: [floats('w', [2, 1, 3, 3], Array.from({ length: 18 }, (_, i) => i / 9)), floats('b', [2], [0.5, 1])],
    }),
    graphOf([node('Shape', ['x'], 's'), node('Gather', ['s', 'k'], 'n'), node('Concat', ['n', 'k'], 'r', { axis: 0 }), node('Slice', ['r', 'k', 'e'], 'q'), node('Reshape', ['x', 'o'], 'v'), node('Transpose', ['v'], 'y', { perm: [1, 0] })], {
      input: [value('x', ['n', 4])], initializer: [ints('k', [1], [0]), ints('e', [1], [1]), ints('o', [2], [4, -1])], output: [value('y', [null, 4]), value('q', [1], 7)],
    }),
    graphOf([node('LSTM', ['x', 'w', 'r'], ['', 'h'], { hidden_size: 1 }), node('Resize', ['h', '', 'k'], 'u', { mode: 'linear' }), node('QuantizeLinear', ['u', 'one'], 'y')], {
      input: [value('x', [3, 1, 1])], initializer: [floats('w', [1, 4, 1], [1, 2, 3, 4]), floats('r', [1, 4, 1], [1, 2, 3, 4]), floats('k', [3], [1, 2, 2]), floats('one', [], [1])],
    }),
  ].map((graph) => model(graph)); // prettier-ignore
}

test('changed models are read, or refused as what they are', () => {
  const models = seeds();
  for (const bytes of models) fromOnnx(bytes);
  const below = numbers(20261122);
  const found: string[] = [];
  let read = 0;
  for (let trial = 0; trial < 1500; trial++) {
    const whole = models[below(models.length)];
    const bytes = below(2) === 0 ? withChangedBytes(whole, below) : withChangedParts(whole, below);
    try {
      if (isRead(bytes)) read++;
    } catch (error) {
      found.push(`trial ${trial}: ${String((error as Error).stack)}`);
    }
  }
  assert.deepEqual(found, []);
  assert.ok(read > 100, `${read} changed models were read all the same`);
});
