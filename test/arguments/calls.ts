import { writeFileSync } from 'node:fs';
import * as kn from '../../src/index.js';
import { toC, toModule } from '../../src/artifact/index.js';
import { encodeNpy } from '../../src/formats/npy.js';
import * as onnx from '../../src/onnx.js';
import type { Callable } from './declarations.js';
import { type Base, binary, type Maker, operators, unary } from './operator-calls.js';
import type { World } from './world.js';

/** A call that is right, of everything published; the campaign makes it wrong. */

const { nn, optim, data } = kn;

/** An engine that takes no call. */
const nothing: kn.ExternalBackend = {
  name: 'nothing',
  supports: () => false,
  compile: () => () => [],
};

const dense = (): kn.nn.Dense => {
  const layer = new nn.Dense(2, { inputs: 3 });
  layer.initialize();
  return layer;
};

/** First values take draws, which are no change that an error afterwards has to undo. */
function initialize(block: kn.nn.Block): void {
  const before = kn.random.getState();
  block.initialize();
  kn.random.setState(before);
}

const filled = <B extends kn.nn.Block>(block: B, ...args: readonly unknown[]): B => {
  initialize(block);
  if (args.length > 0) block.call(...(args as Parameters<B['forward']>));
  return block;
};

const graphOf = ({ x }: World): kn.StaticGraph => {
  const a = x.add(0);
  const y = kn.deferredCompute(() => kn.tanh(a.mul(2)));
  return kn.exportGraph({ inputs: { a }, outputs: { y } });
};

const optimizer = <O extends kn.optim.Optimizer>(
  Type: new (
    parameters: ReadonlyMap<string, kn.nn.Parameter>,
    options: { learningRate: number },
  ) => O,
): O =>
  // prettier-ignore
  new Type(dense().parameters(), { learningRate: 0.1 });

const stepped = <O extends kn.optim.Optimizer>(
  Type: new (
    parameters: ReadonlyMap<string, kn.nn.Parameter>,
    options: { learningRate: number },
  ) => O,
  { x }: World,
): O => {
  // prettier-ignore
  const layer = dense();
  const made = new Type(layer.parameters(), { learningRate: 0.1 });
  kn.autograd.record(() => layer.call(x).sum()).backward();
  return made;
};

const on =
  (make: (world: World) => object, ...args: readonly unknown[]): Maker =>
  (world) => ({ receiver: make(world), args });

const classMethod =
  (make: (world: World) => object, args: (world: World) => readonly unknown[]): Maker =>
  (world) => ({ receiver: make(world), args: args(world) });

/** As conversion leaves a function. */
function convertedFunction(y: kn.NDArray): kn.NDArray {
  'use graph converted ?: 1:1 0 reads=y';
  return y.tanh();
}

const functions: Readonly<Record<string, Maker>> = {
  cond: ({ x }) => [kn.array(true), () => x.add(1), () => x.sub(1)],
  foreach: ({ x, v }) => [(row: kn.NDArray, sum: kn.NDArray) => [row, sum.add(row)], x, v],
  whileLoop: ({ x }) => [
    (i: kn.NDArray) => i.less(3),
    (i: kn.NDArray, y: kn.NDArray) => [[], [i.add(1), y.mul(2)]],
    [kn.array(0), x],
    { maxIterations: 5 },
  ],
  inContext: () => [new kn.ShapeError('no'), 'in a test', { op: 'f' }],
  named: () => [new kn.ShapeError('no'), 'f'],
  userFrame: () => [new Error().stack],
  dim: () => ['n', { min: 1, max: 9 }],
  arange: () => [4],
  array: () => [[1, 2, 3, 4], { dtype: 'float32', shape: [2, 2] }],
  full: () => [[2, 3], 1.5],
  linspace: () => [0, 1, 5],
  ones: () => [[2, 3]],
  zeros: () => [[2, 3]],
  grad: ({ x }) => ({ args: [(y: kn.NDArray) => y.square().sum()], use: (f) => (f as (y: kn.NDArray) => unknown)(x) }), // prettier-ignore
  valueAndGrad: ({ x }) => ({ args: [(y: kn.NDArray) => y.square().sum()], use: (f) => (f as (y: kn.NDArray) => unknown)(x) }), // prettier-ignore
  checkpoint: ({ x }) => ({ args: [(y: kn.NDArray) => y.tanh()], use: (f) => (f as (y: kn.NDArray) => unknown)(x) }), // prettier-ignore
  customGradient: ({ x }) => ({
    args: [{ forward: (y: kn.NDArray) => y.mul(2), backward: ([g]: kn.NDArray[]) => g }],
    use: (f) => {
      const y = x.add(0);
      y.attachGrad();
      kn.autograd.record(() => (f as (y: kn.NDArray) => kn.NDArray)(y).sum()).backward();
    },
  }),
  compute: ({ x }) => [kn.deferredCompute(() => x.add(1))],
  check: ({ x }) => [x.greater(-100), 'no element is so small'],
  initDevice: () => [
    'cpu',
    { memoryBudget: 1000, worker: false, tuning: { card: { kernel: 'tile' } } },
  ],
  registerBackend: () => [nothing],
  profile: ({ x }) => [() => x.add(1)],
  deferredCompute: ({ x }) => [() => x.add(1)],
  isDeferred: unary,
  sizeOf: ({ x }) => [x, 1],
  exportGraph: ({ x }) => {
    const a = x.add(0);
    return [{ inputs: { a }, outputs: { y: kn.deferredCompute(() => a.tanh()) } }];
  },
  staticCode: () => ({ args: [() => 1], use: (f) => (f as () => unknown)() }),
  staticGraph: ({ x }) => ({ args: [(y: kn.NDArray) => y.tanh(), {}], use: (f) => (f as (y: kn.NDArray) => unknown)(x) }), // prettier-ignore
  explainSource: () => ({ args: [convertedFunction] }),
  hybridize: ({ x }) => ({ args: [(y: kn.NDArray) => y.tanh(), {}], use: (f) => (f as (y: kn.NDArray) => unknown)(x) }), // prettier-ignore
  decodeCheckpoint: () => [kn.encodeCheckpoint({ net: dense() }), { net: dense() }],
  encodeCheckpoint: () => [{ net: dense() }],
  loadCheckpoint: () => {
    writeFileSync('saved.checkpoint', kn.encodeCheckpoint({ net: dense() }));
    return ['saved.checkpoint', { net: dense() }];
  },
  saveCheckpoint: () => ['written.checkpoint', { net: dense() }],
  load: () => {
    writeFileSync('saved.npy', encodeNpy({ dtype: 'int8', shape: [2], data: Int8Array.of(1, 2) }));
    return ['saved.npy', { maxBytes: 1000 }];
  },
  save: ({ x }) => ['written.npy', x],
  saveToBytes: ({ x }) => ['safetensors', { x }],
  'random.seed': () => [7],
  'random.setState': () => [kn.random.getState()],
  'random.normal': () => [[2, 3], { mean: 1, std: 2 }],
  'random.uniform': () => [[2, 3], { low: 0, high: 2 }],
  'random.randint': () => [0, 9, [2]],
  'random.bernoulli': () => [[2], { p: 0.5 }],
  'random.categorical': ({ x }) => [x],
  'random.permutation': () => [5],
  'autograd.grad': ({ x }) => {
    const y = x.add(0);
    y.attachGrad();
    return [kn.autograd.record(() => y.square().sum()), [y]];
  },
  'autograd.pause': ({ x }) => [() => x.add(1)],
  'autograd.predictMode': ({ x }) => [() => x.add(1)],
  'autograd.record': ({ x }) => [() => x.add(1)],
  'autograd.trainMode': ({ x }) => [() => x.add(1)],
  'nn.initializer.constant': () => ({ args: [2], use: initialized }),
  'nn.initializer.uniform': () => ({ args: [0.5], use: initialized }),
  'nn.initializer.normal': () => ({ args: [0.5], use: initialized }),
  'nn.initializer.zeros': () => [[2, 3], 'float32'],
  'nn.initializer.ones': () => [[2, 3], 'float32'],
  'nn.initializer.xavier': () => [[2, 3], 'float32'],
  'nn.initializer.he': () => [[2, 3], 'float32'],
  'nn.loss.ctc': ({ seq }) => [seq, kn.array([[1], [2]], { dtype: 'int32' })],
  'nn.loss.softmaxCrossEntropy': ({ x, labels }) => [x, labels],
  'nn.loss.mse': ({ x }) => [x, x],
  'nn.loss.l1': ({ x }) => [x, x],
  'nn.loss.huber': ({ x }) => [x, x],
  'nn.loss.binaryCrossEntropy': ({ x }) => [x, x],
  'nn.loss.kl': ({ x }) => [x.logSoftmax(1), x.softmax(1)],
  'optim.clipGlobalNorm': (world) => [backwarded(world).parameters(), 1],
  'optim.schedule.stepDecay': () => ({ args: [0.1, { every: 2, factor: 0.5 }], use: scheduled }),
  'optim.schedule.cosine': () => ({ args: [0.1, { steps: 10 }], use: scheduled }),
  'optim.schedule.warmup': () => ({ args: [3, 0.1], use: scheduled }),
  'data.collate': ({ v }) => [[v, v]],
  'artifact.toC': (world) => [graphOf(world), { name: 'model', check: { a: world.x } }],
  'artifact.toModule': (world) => [graphOf(world), { check: { a: world.x } }],
  'onnx.fromOnnx': (world) => [onnx.toOnnx(graphOf(world))],
  'onnx.statesOf': (world) => [graphOf(world)],
  'onnx.toOnnx': (world) => [graphOf(world), { opset: 17 }],
};

function initialized(result: unknown): unknown {
  return (result as kn.nn.Initializer)([2, 3], 'float32');
}

function scheduled(result: unknown): unknown {
  return (result as (step: number) => number)(3);
}

function backwarded({ x }: World): kn.nn.Dense {
  const layer = dense();
  kn.autograd.record(() => layer.call(x).sum()).backward();
  return layer;
}

/** A layer is used with an array right after it was made: not before are its parameters. */
const layer =
  (args: readonly unknown[], ...inputs: readonly (keyof World)[]): Maker =>
  (world) => ({
    args,
    use: (made) => {
      const block = made as kn.nn.Block;
      initialize(block);
      return block.call(...(inputs.map((name) => world[name]) as never[]));
    },
  });

const classes: Readonly<Record<string, Maker>> = {
  'nn.Lambda': layer(['relu'], 'x'),
  'nn.MultiHeadAttention': layer([3, 3], 'seq'),
  'nn.TransformerEncoderLayer': layer([3, 3, { hidden: 4 }], 'seq'),
  'nn.GRUCell': ({ x }) => ({ args: [2], use: (made) => cellStep(made, x) }),
  'nn.LSTMCell': ({ x }) => ({ args: [2], use: (made) => cellStep(made, x) }),
  'nn.RNNCell': ({ x }) => ({ args: [2], use: (made) => cellStep(made, x) }),
  'nn.Conv1d': layer([2, 2], 'seq'),
  'nn.Conv2d': layer([2, 2], 'image'),
  'nn.Conv3d': ({ image }) => ({ args: [2, [1, 2, 2]], use: (made) => filled(made as kn.nn.Block, image.reshape([1, 2, 1, 4, 4])) }), // prettier-ignore
  'nn.ConvTranspose2d': layer([2, 2], 'image'),
  'nn.Dense': layer([2, { activation: 'relu' }], 'x'),
  'nn.Dropout': layer([0.5], 'x'),
  'nn.Embedding': layer([5, 3], 'labels'),
  'nn.BatchNorm': layer([{ momentum: 0.9 }], 'x'),
  'nn.GroupNorm': layer([2], 'image'),
  'nn.InstanceNorm': layer([{ affine: false }], 'image'),
  'nn.LayerNorm': layer([{}], 'x'),
  'nn.RMSNorm': layer([{}], 'x'),
  'nn.AdaptiveAvgPool2d': layer([3], 'image'),
  'nn.AdaptiveMaxPool2d': layer([[null, 3]], 'image'),
  'nn.AvgPool2d': layer([2], 'image'),
  'nn.MaxPool2d': layer([2], 'image'),
  'nn.GlobalAvgPool2d': layer([], 'image'),
  'nn.GRU': layer([2], 'seq'),
  'nn.LSTM': layer([2, { layers: 2 }], 'seq'),
  'nn.RNN': layer([2], 'seq'),
  'nn.Sequential': ({ x }) => ({ args: [dense(), new nn.Dropout(0.5)], use: (made) => filled(made as kn.nn.Block, x) }), // prettier-ignore
  'nn.CarriedState': () => [new nn.Parameter({ shape: [null as never, 2].map((n) => n ?? 1) }), null], // prettier-ignore
  'nn.StatefulGRU': layer([2], 'x'),
  'nn.StatefulLSTM': layer([2], 'x'),
  'nn.GraphBlock': ({ x }) => { const net = dense(); return { args: [net.graphFor(x)], use: (made) => (made as kn.nn.GraphBlock).call(x) }; }, // prettier-ignore
  'nn.Parameter': () => ({ args: [{ shape: [2, 3] }], use: (made) => { (made as kn.nn.Parameter).initialize(); return (made as kn.nn.Parameter).value; } }), // prettier-ignore
  'optim.SGD': () => [dense().parameters(), { learningRate: 0.1, momentum: 0.9 }],
  'optim.Adam': () => [dense().parameters(), { learningRate: 0.1 }],
  'optim.AdamW': () => [dense().parameters(), { learningRate: 0.1 }],
  'optim.Adagrad': () => [dense().parameters(), { learningRate: 0.1 }],
  'optim.Lion': () => [dense().parameters(), { learningRate: 0.1 }],
  'optim.RMSProp': () => [dense().parameters(), { learningRate: 0.1 }],
  'data.ArrayDataset': ({ x, zeroOne }) => ({ args: [[x, zeroOne]], use: (made) => (made as kn.data.ArrayDataset<kn.NDArray[]>).get(1) }), // prettier-ignore
  'data.Loader': ({ x }) => ({
    args: [new data.ArrayDataset(x), { batchSize: 1 }],
    use: async (made) => {
      const seen: unknown[] = [];
      for await (const batch of made as kn.data.Loader<kn.NDArray>) seen.push(batch);
      return seen;
    },
  }),
};

function cellStep(made: unknown, x: kn.NDArray): unknown {
  const cell = made as kn.nn.LSTMCell;
  initialize(cell);
  return cell.call(x, cell.beginState(2));
}

const anError = (): object => new kn.ShapeError('a problem', { op: 'f' });
const loaderOf = ({ x }: World): object => new data.Loader(new data.ArrayDataset(x), { batchSize: 1 }); // prettier-ignore
const scheduleOf = ({ x }: World): kn.Schedule => {
  const f = kn.staticGraph((y: kn.NDArray) => y.tanh(), {});
  f(x);
  return f.schedules[0];
};
const cellOf = ({ x }: World): object => {
  const cell = filled(new nn.LSTMCell(2));
  cell.call(x, cell.beginState(2));
  return cell;
};
const states = (): readonly kn.NDArray[] => [kn.zeros([2, 2]), kn.zeros([2, 2])];
const carried = (): object => new nn.StatefulLSTM(2).state;
const parameter = (): kn.nn.Parameter => {
  const made = new nn.Parameter({ shape: [2, 3] });
  made.initialize();
  return made;
};
const recordedSum = ({ x }: World): kn.NDArray => {
  const y = x.add(0);
  y.attachGrad();
  return kn.autograd.record(() => y.square().sum());
};

const methods: Readonly<Record<string, Maker>> = {
  'KaonError#problem': on(anError),
  'KaonError#op': on(anError),
  'KaonError#expected': on(anError),
  'KaonError#actual': on(anError),
  'KaonError#advice': on(anError),
  'KaonError#source': on(anError),
  'KaonError#block': on(anError),
  'NDArray#dataSync': on(({ x }) => x),
  'NDArray#data': on(({ x }) => x),
  'NDArray#item': on(({ one }) => one),
  'NDArray#tolist': on(({ x }) => x),
  'NDArray#toString': on(({ x }) => x),
  'NDArray#toJSON': on(({ x }) => x),
  'NDArray#astype': on(({ x }) => x, 'int32'),
  'NDArray#assign': classMethod(({ x }) => x.add(0), ({ x }) => [x.add(1)]), // prettier-ignore
  'NDArray#attachGrad': on(({ x }) => x.add(0), { req: 'add' }),
  'NDArray#detach': on(({ x }) => x),
  'NDArray#backward': classMethod(recordedSum, ({ one }) => [one]),
  'NDArray#shape': on(({ x }) => x),
  'NDArray#dtype': on(({ x }) => x),
  'NDArray#ndim': on(({ x }) => x),
  'NDArray#size': on(({ x }) => x),
  'NDArray#device': on(({ x }) => x),
  'NDArray#grad': on(({ w }) => w),
  'Schedule#calls': on(scheduleOf),
  'Schedule#graph': on(scheduleOf),
  'Schedule#step': (world) => ({ receiver: scheduleOf(world), args: [], use: (steps) => [...(steps as Iterable<unknown>)] }), // prettier-ignore
  'StaticGraph#run': classMethod(graphOf, ({ x }) => [{ a: x }]),
  'StaticGraph#to': on(graphOf, 'cpu'),
  'StaticGraph#cpu': on(graphOf),
  'StaticGraph#inferTypes': on(graphOf, { a: { shape: ['n', 3], dtype: 'float32' } }),
  'StaticGraph#toString': on(graphOf),
  'StaticGraph#toDot': on(graphOf),
  'StaticGraph#toJSON': on(graphOf),
  'StaticGraph.fromJSON': (world) => ({
    receiver: kn.StaticGraph,
    args: [graphOf(world).toJSON()],
  }),
  'nn.Block#call': classMethod(dense, ({ x }) => [x]),
  'nn.Block#forward': classMethod(dense, ({ x }) => [x]),
  'nn.Block#inferShape': classMethod(dense, ({ x }) => [x]),
  'nn.Block#members': on(dense),
  'nn.Block#descendants': on(dense),
  'nn.Block#parameters': on(dense),
  'nn.Block#initialize': on(dense, { force: true }),
  'nn.Block#saveParameters': on(dense, 'written.safetensors'),
  'nn.Block#loadParameters': () => {
    writeFileSync('saved.safetensors', dense().toSafetensors());
    return { receiver: dense(), args: ['saved.safetensors'] };
  },
  'nn.Block#to': on(dense, 'cpu'),
  'nn.Block#cpu': on(dense),
  'nn.Block#toSafetensors': on(dense),
  'nn.Block#fromSafetensors': () => ({ receiver: dense(), args: [dense().toSafetensors()] }),
  'nn.Block#summary': classMethod(dense, ({ x }) => [x]),
  'nn.HybridBlock#call': classMethod(hybridDense, ({ x }) => [x]),
  'nn.HybridBlock#forward': classMethod(dense, ({ x }) => [x]),
  'nn.HybridBlock#hybridize': (world) => {
    const receiver = dense();
    return { receiver, args: [{ active: true }], use: () => receiver.call(world.x) };
  },
  'nn.HybridBlock#optimizeFor': ({ x }) => {
    kn.registerBackend(nothing);
    return { receiver: dense(), args: [x, { backend: nothing.name }] };
  },
  'nn.HybridBlock#suspendCapture': on(dense),
  'nn.HybridBlock#explain': on(hybridDense),
  'nn.HybridBlock#graphFor': classMethod(hybridDense, ({ x }) => [x]),
  'nn.Lambda#forward': classMethod(() => new nn.Lambda('relu'), ({ x }) => [x]), // prettier-ignore
  'nn.MultiHeadAttention#forward': classMethod(({ seq }) => filled(new nn.MultiHeadAttention(3, 3), seq), ({ seq }) => [seq, seq, seq, {}]), // prettier-ignore
  'nn.TransformerEncoderLayer#forward': classMethod(({ seq }) => filled(new nn.TransformerEncoderLayer(3, 3), seq), ({ seq }) => [seq, {}]), // prettier-ignore
  'nn.Cell#beginState': on(cellOf, 2),
  'nn.Cell#unroll': classMethod(cellOf, ({ x }) => [x]),
  'nn.Cell#inferShape': classMethod(() => filled(new nn.LSTMCell(2)), ({ x }) => [x]), // prettier-ignore
  'nn.Cell#forward': classMethod(cellOf, ({ x }) => [x, states()]),
  'nn.Conv1d#forward': classMethod(({ seq }) => filled(new nn.Conv1d(2, 2), seq), ({ seq }) => [seq]), // prettier-ignore
  'nn.Conv1d#inferShape': classMethod(() => filled(new nn.Conv1d(2, 2)), ({ seq }) => [seq]), // prettier-ignore
  'nn.Dense#forward': classMethod(dense, ({ x }) => [x]),
  'nn.Dense#inferShape': classMethod(() => filled(new nn.Dense(2)), ({ x }) => [x]), // prettier-ignore
  'nn.Dropout#forward': classMethod(() => new nn.Dropout(0.5), ({ x }) => [x]), // prettier-ignore
  'nn.Embedding#forward': classMethod(() => filled(new nn.Embedding(5, 3)), ({ labels }) => [labels]), // prettier-ignore
  'nn.BatchNorm#forward': classMethod(({ x }) => filled(new nn.BatchNorm(), x), ({ x }) => [x]), // prettier-ignore
  'nn.BatchNorm#inferShape': classMethod(() => filled(new nn.BatchNorm()), ({ x }) => [x]), // prettier-ignore
  'nn.GraphBlock#members': on(() => new nn.GraphBlock(dense().graphFor(kn.ones([2, 3])))),
  'nn.GraphBlock#forward': classMethod(({ x }) => new nn.GraphBlock(dense().graphFor(x)), ({ x }) => [x]), // prettier-ignore
  'nn.GroupNorm#forward': classMethod(({ image }) => filled(new nn.GroupNorm(2), image), ({ image }) => [image]), // prettier-ignore
  'nn.GroupNorm#inferShape': classMethod(() => filled(new nn.GroupNorm(2)), ({ image }) => [image]), // prettier-ignore
  'nn.InstanceNorm#forward': classMethod(({ image }) => filled(new nn.InstanceNorm(), image), ({ image }) => [image]), // prettier-ignore
  'nn.InstanceNorm#inferShape': classMethod(() => filled(new nn.InstanceNorm()), ({ image }) => [image]), // prettier-ignore
  'nn.LayerNorm#forward': classMethod(({ x }) => filled(new nn.LayerNorm(), x), ({ x }) => [x]), // prettier-ignore
  'nn.LayerNorm#inferShape': classMethod(() => filled(new nn.LayerNorm()), ({ x }) => [x]), // prettier-ignore
  'nn.RMSNorm#forward': classMethod(({ x }) => filled(new nn.RMSNorm(), x), ({ x }) => [x]), // prettier-ignore
  'nn.RMSNorm#inferShape': classMethod(() => filled(new nn.RMSNorm()), ({ x }) => [x]), // prettier-ignore
  'nn.AdaptiveAvgPool2d#forward': classMethod(() => new nn.AdaptiveAvgPool2d(3), ({ image }) => [image]), // prettier-ignore
  'nn.AdaptiveMaxPool2d#forward': classMethod(() => new nn.AdaptiveMaxPool2d(3), ({ image }) => [image]), // prettier-ignore
  'nn.AvgPool2d#forward': classMethod(() => new nn.AvgPool2d(2), ({ image }) => [image]), // prettier-ignore
  'nn.MaxPool2d#forward': classMethod(() => new nn.MaxPool2d(2), ({ image }) => [image]), // prettier-ignore
  'nn.GlobalAvgPool2d#forward': classMethod(() => new nn.GlobalAvgPool2d(), ({ image }) => [image]), // prettier-ignore
  'nn.GRU#call': classMethod(({ seq }) => filled(new nn.GRU(2), seq), ({ seq }) => [seq, { lengths: [4, 2] }]), // prettier-ignore
  'nn.GRU#forward': classMethod(({ seq }) => filled(new nn.GRU(2), seq), ({ seq }) => [seq, { lengths: [4, 2] }]), // prettier-ignore
  'nn.GRU#beginState': on(({ seq }) => filled(new nn.GRU(2), seq), 2),
  'nn.Sequential#forward': classMethod(() => filled(new nn.Sequential(new nn.Dropout(0.5))), ({ x }) => [x]), // prettier-ignore
  'nn.CarriedState#forward': on(carriedBegun),
  'nn.CarriedState#values': on(carried),
  'nn.CarriedState#batch': on(carried),
  'nn.CarriedState#begin': on(carried, 2),
  'nn.StatefulGRU#forward': classMethod(({ x }) => filled(new nn.StatefulGRU(2), x), ({ x }) => [x]), // prettier-ignore
  'nn.StatefulGRU#resetState': on(({ x }) => filled(new nn.StatefulGRU(2), x)),
  'nn.Parameter#shape': on(parameter),
  'nn.Parameter#isInitialized': on(parameter),
  'nn.Parameter#value': on(parameter),
  'nn.Parameter#grad': on(parameter),
  'nn.Parameter#gradReq': on(parameter),
  'nn.Parameter#resolveShape': on(parameter, [2, 3]),
  'nn.Parameter#initialize': on(parameter, { force: true }),
  'nn.Parameter#assign': classMethod(parameter, ({ x }) => [x]),
  'nn.Parameter#zeroGrad': on(parameter),
  'optim.Optimizer#learningRate': on(() => optimizer(optim.Adam)),
  'optim.Optimizer#steps': on(() => optimizer(optim.Adam)),
  'optim.Optimizer#step': on((world) => stepped(optim.Adam, world)),
  'optim.Optimizer#zeroGrad': on(() => optimizer(optim.Adam)),
  'optim.Optimizer#cpu': on(() => optimizer(optim.Adam)),
  'optim.Optimizer#state': on(() => optimizer(optim.Adam)),
  'optim.Optimizer#loadState': () => {
    const made = optimizer(optim.Adam);
    return { receiver: made, args: [made.state()] };
  },
  'data.ArrayDataset#get': on(({ x }) => new data.ArrayDataset(x), 1),
  'data.ArrayDataset#batch': on(({ x }) => new data.ArrayDataset(x), [0, 1]),
  'data.Loader#length': on(loaderOf),
  'data.Loader#state': on(loaderOf),
  'data.Loader#loadState': on(loaderOf, { seed: 1, epoch: 2, batch: 0 }),
};

function hybridDense({ x }: World): object {
  const made = dense();
  made.hybridize();
  made.call(x);
  return made;
}

function carriedBegun({ x }: World): object {
  return filled(new nn.StatefulLSTM(2), x).state;
}

const tables = [operators, functions, classes, methods];

/** The right call of a callable; undefined where nobody has written one. */
export function baseOf({ path, parameters, kind }: Callable): Maker | undefined {
  for (const table of tables) if (Object.hasOwn(table, path)) return table[path];
  if (path.endsWith('Error') && kind === 'class') return () => ['a problem', { op: 'f' }];
  if (kind !== 'function') return undefined;
  const names = parameters.filter(({ isOptional }) => !isOptional).map(({ name }) => name);
  if (names.length === 0) return () => [];
  if (String(names) === 'x') return unary;
  if (String(names) === 'x,y') return binary;
  return undefined;
}

export const entries: Readonly<Record<string, object>> = {
  '': kn,
  artifact: { toC, toModule },
  onnx,
};
export type { Base };
