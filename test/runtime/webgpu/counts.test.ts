import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Transformer } from '../../../examples/attention/model.js';
import * as kn from '../../../src/index.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import type { CommandCounts } from '../../../src/runtime/webgpu/commands.js';
import { GpuEncoder } from '../../../src/runtime/webgpu/encoder.js';
import { setUpWebGpu } from '../../../src/runtime/webgpu/setup.js';
import { assertClose } from '../../support/close.js';
import { gpuForTests } from '../../support/webgpu.js';

/* Commands that a transformer gives a GPU, beside the least that there could be. */

const gpu = await gpuForTests();
const skip = typeof gpu === 'string' ? gpu : false;
const backend = skip === false ? await setUpWebGpu() : null;
const queue = backend === null ? null : registerDevice(backend);

after(() => {
  backend?.close();
  if (typeof gpu !== 'string') gpu.close();
});

const layers = 1;

/** Submits of 32 dispatches are the least; reads end some of them before, and so do writes, of half of them at most. */
const mostSubmits = (dispatches: number, reads: number): number => dispatches / 16 + reads + 2;
const rows = [[1, 2, 3, 4, 5, 6, 7, 8], [3, 1, 4, 1, 5, 9, 2, 6]]; // prettier-ignore

function model(): Transformer {
  kn.random.seed(3);
  const made = new Transformer({ size: 16, heads: 2, layers, capacity: 8, vocabulary: 11 });
  made.initialize();
  made.call(kn.array(rows, { dtype: 'int32' }));
  return made;
}

/** Commands of one call, once it has been compiled. */
async function counted(call: () => unknown): Promise<CommandCounts> {
  for (let k = 0; k < 3; k++) call();
  await queue!.synchronize();
  const before = { ...backend!.counts };
  call();
  await queue!.synchronize();
  const { counts } = backend!;
  const names = Object.keys(before) as (keyof CommandCounts)[];
  const differences = names.map((name) => [name, counts[name] - before[name]]);
  return Object.fromEntries(differences) as unknown as CommandCounts; // one for each name
}

test('steps whose elements are checked do not wait for each other', { skip }, async () => {
  const table = kn.arange(12).reshape([4, 3]).to('webgpu');
  const step = kn.hybridize((x: kn.NDArray, at: kn.NDArray) => x.add(table.take(at, { axis: 0 }).sum(0))); // prettier-ignore
  const at = kn.array([0, 3], { dtype: 'int32' }).to('webgpu');
  let x = kn.zeros([3]).to('webgpu');
  for (let k = 0; k < 3; k++) x = step(x, at);
  await queue!.synchronize();
  const before = { ...backend!.counts };
  for (let k = 0; k < 100; k++) x = step(x, at);
  // All have been handed over, and nobody has been asked.
  assert.ok(backend!.counts.dispatches - before.dispatches >= 100);
  assert.equal(backend!.counts.reads, before.reads);
  assert.deepEqual(
    [...(await x.data())],
    [9, 11, 13].map((each) => 103 * each),
  );
  // Elements and reports come with one answer.
  assert.equal(backend!.counts.reads - before.reads, 1);
});

test('scans and folds take two dispatches, of sizes that the data decides, too, and read nothing', { skip }, async () => {
  kn.random.seed(6);
  const x = kn.random.normal([5000]);
  const dispatches = async (of: (x: kn.NDArray) => kn.NDArray, given: kn.NDArray): Promise<number> => {
    const step = kn.hybridize(of);
    const expected = step(given).tolist();
    const there = given.to('webgpu');
    assertClose(((await step(there).cpu()).tolist() as readonly number[]).flat(), (expected as readonly number[]).flat(), 1e-5, 'result');
    const { dispatches, reads } = await counted(() => step(there));
    assert.equal(reads, 0);
    return dispatches;
  };
  const long = kn.random.normal([2 ** 15]);
  assert.equal(await dispatches((of) => of.cumsum(0), long), 2);
  assert.equal(await dispatches((of) => of.reshape([64, 512]).cumsum(1), long), 1);
  // The scan is two more.
  const kept = (of: kn.NDArray): kn.NDArray => kn.booleanMask(of, of.greater(0));
  const alone = await dispatches((of) => kept(of).sum(0, { keepdims: true }), x);
  const scanned = await dispatches((of) => kept(of).cumsum(0).sum(0, { keepdims: true }), x);
  assert.equal(scanned - alone, 2);
}); // prettier-ignore

test('a training step of a transformer', { skip }, async () => {
  const net = model();
  net.to('webgpu');
  const tokens = kn.array(rows, { dtype: 'int32' }).to('webgpu');
  const optimizer = new kn.optim.Adam(net.parameters(), { learningRate: 0.01 });
  const step = kn.hybridize((x: kn.NDArray) => {
    const loss = kn.autograd.record(() => kn.nn.loss.softmaxCrossEntropy(net.call(x), x));
    loss.backward();
    optimizer.step();
    return loss;
  });
  const { dispatches, submits, reads, bytesRead, bytesWritten } = await counted(() => step(tokens));
  // A layer has four products and an attention; with a gradient for either operand of each, and the loss, this is the
  // least: 15 for a layer, 3 for the last product. Norms, sums of biases and updates of weights come on top.
  const least = 15 * layers + 3;
  assert.ok(dispatches <= 4 * least, `${dispatches} dispatches`);
  assert.ok(submits <= mostSubmits(dispatches, reads), `${submits} submits`);
  // What the operators refuse whose elements are checked: embeddings, the loss, and their gradients. It is read when
  // somebody waits, and holds nothing up.
  assert.equal(reads, 1);
  assert.ok(bytesRead <= 6 * 3 * 4, `${bytesRead} bytes`);
  // Two corrections of Adam for each parameter.
  assert.ok(bytesWritten <= 2 * 4 * net.parameters().size, `${bytesWritten} bytes`);
});

test(
  'steps of sequences with lengths read nothing, and start no more workgroups than there is work',
  { skip },
  async () => {
    const layer = new kn.nn.LSTM(8);
    layer.initialize();
    const x = kn.random.normal([4, 6, 8]);
    const lengths = kn.array([3, 1, 6, 2], { dtype: 'int32' });
    const loss = (x: kn.NDArray, lengths: kn.NDArray): kn.NDArray =>
      layer.call(x, { lengths })[0].square().sum();
    const step = kn.hybridize(kn.grad(loss));
    const expected = [...step(x, lengths).dataSync()].map(Number);
    layer.to('webgpu');
    const there = [x.to('webgpu'), lengths.to('webgpu')] as const;
    let made: kn.NDArray;
    const groups: number[] = [];
    const dispatch = GpuEncoder.prototype.dispatch;
    GpuEncoder.prototype.dispatch = function (command) {
      groups.push(command.groups);
      return dispatch.call(this, command);
    };
    try {
      const { reads } = await counted(() => void (made = step(...there)));
      assert.equal(reads, 0);
    } finally {
      GpuEncoder.prototype.dispatch = dispatch;
    }
    // 24 rows of 32 gates each are the most elements of a dispatch.
    assert.ok(Math.max(...groups) <= (4 * 6 * 32) / 64, `${Math.max(...groups)} workgroups`);
    assertClose([...(await made!.data())].map(Number), expected, 1e-5, 'gradient');
  },
);

/** Continues sequences by their most probable tokens: as many, or until a token comes. */
function decoding(net: Transformer, time: number, ends: boolean): (x: kn.NDArray) => kn.NDArray {
  const next = (logits: kn.NDArray): kn.NDArray => logits.argmax(-1).astype('int32');
  return kn.hybridize((prompts: kn.NDArray): kn.NDArray => {
    const token = prompts.slice(':', 0);
    const caches = net.emptyCaches(token);
    if (!ends) {
      return kn.foreach(
        (position, state) => {
          const [logits, kept] = net.step(state.token, position, state.caches);
          const following = next(logits);
          return [following, { token: following, caches: kept }];
        },
        kn.arange(time, { dtype: 'int32' }),
        { token, caches },
      )[0];
    }
    const position = kn.array(0, { dtype: 'int32' });
    return kn.whileLoop(
      (state) => state.isDone.logicalNot().any(),
      (state) => {
        const [logits, kept] = net.step(state.token, state.position, state.caches);
        const following = next(logits);
        const isDone = state.isDone.logicalOr(following.equal(9));
        return [
          following,
          { position: state.position.add(1), token: following, caches: kept, isDone },
        ];
      },
      { position, token, caches, isDone: kn.zerosLike(token, { dtype: 'bool' }) },
      { maxIterations: time, padded: true },
    )[0];
  });
}

for (const ends of [false, true]) {
  test(`decoding a sequence, ${ends ? 'until it ends' : 'of a length'}`, { skip }, async () => {
    const net = model();
    const given = kn.array(rows, { dtype: 'int32' });
    const expected = decoding(net, 8, ends)(given).tolist();
    net.to('webgpu');
    const there = given.to('webgpu');
    const made = await decoding(net, 8, ends)(there).cpu();
    assert.deepEqual(made.tolist(), expected);
    const [short, long] = [4, 8].map((time) => decoding(net, time, ends));
    const [few, many] = [await counted(() => short(there)), await counted(() => long(there))];
    // A token is five kernels in each layer at least, one for its logits, one for the best of them, and one that decides
    // whether there is another.
    const least = 5 * layers + 2 + Number(ends);
    assert.ok(many.dispatches - few.dispatches <= 4 * 3 * least, `${many.dispatches}`);
    assert.ok(many.submits <= mostSubmits(many.dispatches, many.reads), `${many.submits} submits`);
    // Whether tokens are in the vocabulary and positions in the table, once for all iterations; no condition is read.
    assert.ok(many.reads <= 1 && many.bytesRead <= 2 * 4 * 4, `${many.reads} reads`);
    assert.ok(many.bytesWritten <= 64, `${many.bytesWritten} bytes`);
  });
}
