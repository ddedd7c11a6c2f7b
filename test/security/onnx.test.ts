import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { ModelProtoSchema } from '../../src/formats/onnx/proto/onnx_pb.js';
import * as kn from '../../src/index.js';
import { fromOnnx, toOnnx } from '../../src/onnx.js';
import { settings } from '../support/settings.js';
import { assertHarmless, assertHarmlessC, endings, everything, type Known } from './attacks.js';

/** A model with names of inputs, outputs, weights, sizes and sub-graphs, and with descriptions. */
function sample(): { readonly bytes: Uint8Array; readonly known: Known } {
  kn.random.seed(4);
  const layer = new kn.nn.Dense(3, { activation: 'tanh' }).initialize();
  layer.call(kn.zeros([1, 2]));
  const f = kn.hybridize(
    (x: kn.NDArray, y: kn.NDArray) => {
      const [rows, last] = kn.foreach((row, s) => [row.mul(2), s.add(row)], y, kn.zeros([2]));
      const branch = kn.cond(y.sum().greater(0), () => y.mul(2), () => y.neg()); // prettier-ignore
      return { dense: layer.call(x), rows, last, branch };
    },
    { dynamic: [['n', null], ['m', null]] }, // prettier-ignore
  );
  const feeds = [kn.random.normal([4, 2]), kn.random.normal([3, 2])];
  const graph = f.graphFor(feeds[0], feeds[1]);
  const named = Object.fromEntries(graph.inputNames.map((name, i) => [name, feeds[i]]));
  const results = graph.run(named);
  const outputs = graph.outputNames.map((name) => [...(results[name].dataSync() as Float32Array)]);
  const model = fromBinary(ModelProtoSchema, toOnnx(graph));
  model.docString = 'a description';
  model.producerName = 'somebody';
  model.graph!.docString = 'a graph';
  for (const node of model.graph!.node) node.docString = 'a node';
  return { bytes: toBinary(ModelProtoSchema, model), known: { feeds, outputs } };
}

const { bytes, known } = sample();

/** The model with every string replaced, wherever in it. */
function changed(change: (text: string) => string): Uint8Array {
  const model = fromBinary(ModelProtoSchema, bytes);
  const walk = (value: object): void => {
    for (const [key, entry] of Object.entries(value)) {
      if (key === '$typeName') continue;
      if (typeof entry === 'string') {
        const isCase = key === 'case' && 'value' in value;
        if (!isCase) (value as Record<string, unknown>)[key] = change(entry);
      } else if (typeof entry === 'object' && entry !== null && !(entry instanceof Uint8Array)) {
        walk(entry as object);
      }
    }
  };
  walk(model);
  return toBinary(ModelProtoSchema, model);
}

const strings = new Set<string>();
changed((text) => (strings.add(text), text));

function loaded(from: Uint8Array): kn.StaticGraph | null {
  try {
    return fromOnnx(from);
  } catch (error) {
    assert.ok(error instanceof kn.KaonError && !(error instanceof kn.InternalError), String(error));
    return null;
  }
}

/** The strings that a model may have otherwise, all of one name at a time: names, sizes, descriptions. */
const free = [...strings].filter(
  (string) => string !== '' && loaded(changed((text) => (text === string ? `${text}x` : text))) !== null, // prettier-ignore
);

test('the sample has strings of every kind', () => {
  assert.ok(free.length > 15, free.join());
  for (const kind of ['a description', 'somebody', 'n', 'a graph', 'a node', 'input0']) {
    assert.ok(free.includes(kind), kind);
  }
});

/** Text of protocol buffers is UTF-8, which has no lone surrogates. */
const encodable = (text: string): string => text.replaceAll('\ud800', '');

test('each string of a model with every attack appended: it computes the same, and nothing runs', async () => {
  let harmless = 0;
  for (const string of free) {
    const graph = loaded(
      changed((text) => (text === string ? text + encodable(everything) : text)),
    );
    if (graph === null) continue;
    await assertHarmless(graph, known);
    harmless++;
  }
  assert.ok(harmless > free.length / 2, `${harmless} of ${free.length}`);
});

for (const [k, ending] of endings.entries()) {
  test(`all strings of a model end in ${JSON.stringify(ending)}`, async () => {
    const graph = loaded(
      changed((text) => (free.includes(text) ? text + encodable(ending) : text)),
    );
    assert.ok(graph !== null);
    await assertHarmless(graph, known);
    // By day the other half is compiled with the strings of a graph.
    if (settings.isLong || k % 2 === 1) assertHarmlessC(graph, known);
  });
}
