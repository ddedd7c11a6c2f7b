import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  ModelProtoSchema,
  type ValueInfoProtoSchema,
} from '../../src/formats/onnx/proto/onnx_pb.js';
import { command } from '../../src/cli/command.js';
import { decodeNpy, encodeNpy } from '../../src/formats/npy.js';
import { decodeSafetensors, encodeSafetensors } from '../../src/formats/safetensors.js';
import * as kn from '../../src/index.js';

let folder: string;
before(() => (folder = mkdtempSync(join(tmpdir(), 'kaon-cli-'))));
after(() => rmSync(folder, { recursive: true }));

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

async function kaon(...args: readonly string[]): Promise<Ran> {
  let [out, error] = ['', ''];
  const code = await command(args, {
    out: (text) => void (out += text),
    error: (text) => void (error += text),
  });
  return { code, out, error };
}

const file = (name: string): string => join(folder, name);

/** Writes the graph of `x -> tanh(x w + b)`, and what it makes of an input. */
function saved(name: string, scale = 1): { readonly path: string; readonly graph: kn.StaticGraph } {
  kn.random.seed(3);
  const layer = new kn.nn.Dense(2, { activation: 'tanh' }).initialize();
  layer.call(kn.zeros([1, 3]));
  const f = kn.hybridize((x: kn.NDArray) => layer.call(x).mul(scale), {
    dynamic: [['n', null]],
  });
  const graph = f.graphFor(kn.zeros([4, 3]));
  writeFileSync(file(name), JSON.stringify(graph.toJSON()));
  return { path: file(name), graph };
}

const x = Float32Array.of(1, -2, 3, 0.5, 0, -0.25);

test('inspect tells signature, parameters, operators and memory', async () => {
  const { path } = saved('inspected.json', 2);
  const { code, out, error } = await kaon('inspect', path);
  assert.equal(code, 0);
  assert.equal(error, '');
  assert.match(out, /^inputs\n {2}input: float32\[n, 3\]\n/);
  assert.match(out, /outputs\n {2}output: float32\[n, 2\]\n/);
  assert.match(out, /parameters: 2, 32 bytes\n/); // 3 x 2 and 2 floats
  assert.match(out, /: float32\[2, 3\], 24 bytes|: float32\[3, 2\], 24 bytes/);
  assert.match(out, /1 tanh/);
  assert.match(out, /\bn\b.* bytes for/);
  assert.match(out, /changes nothing/);
  const text = await kaon('inspect', path, '--text');
  assert.match(text.out, /tanh/);
});

test('run reads and writes .npy and .safetensors', async () => {
  const { path, graph } = saved('run.json');
  const expected = graph.run({ input: kn.array(x).reshape([2, 3]) }).output;
  writeFileSync(file('x.npy'), encodeNpy({ dtype: 'float32', shape: [2, 3], data: x }));
  const tensors = new Map([['input', { dtype: 'float32', shape: [2, 3], data: x } as const]]);
  writeFileSync(file('x.safetensors'), encodeSafetensors({ tensors, metadata: new Map() }));

  const printed = await kaon('run', path, '--input', `input=${file('x.npy')}`);
  assert.deepEqual(printed, { code: 0, out: `output = ${String(expected)}\n`, error: '' });

  const ways = [`input=${file('x.npy')}`, file('x.safetensors'), `input=${file('x.safetensors')}`];
  for (const way of ways) {
    assert.equal((await kaon('run', path, '--input', way, '--out', file('y.npy'))).code, 0);
    const { shape, data } = decodeNpy(readFileSync(file('y.npy')));
    assert.deepEqual([shape, [...data]], [[2, 2], expected.flatten().tolist()]);
    assert.equal((await kaon('run', path, '--input', way, '--out', file('y.safetensors'))).code, 0);
    const { tensors: made } = decodeSafetensors(readFileSync(file('y.safetensors')));
    assert.deepEqual(made.get('output')?.data, data);
  }
});

test('convert writes modules, C, JSON and text', async () => {
  const { path, graph } = saved('convert.json');
  for (const name of ['model.mjs', 'model.c', 'again.json', 'program.txt']) {
    const { code, out } = await kaon('convert', path, file(name));
    assert.equal(code, 0);
    for (const written of out.trimEnd().split('\n')) assert.ok(existsSync(written), written);
  }
  assert.ok(existsSync(file('model.h')));
  const { run } = (await import(file('model.mjs'))) as {
    run(feeds: object): { output: { data: Float32Array } };
  };
  const expected = graph.run({ input: kn.array(x).reshape([2, 3]) }).output.flatten().tolist(); // prettier-ignore
  assert.deepEqual([...run({ input: { data: x, shape: [2, 3] } }).output.data], expected);
  assert.equal((await kaon('diff', path, file('again.json'))).code, 0);
});

test('models of ONNX are graphs, too', async () => {
  const tensor = (name: string): MessageInitShape<typeof ValueInfoProtoSchema> => {
    const dim = [{ value: { case: 'dimParam', value: 'n' } }] as const;
    const value = { elemType: 1, shape: { dim: [...dim] } };
    return { name, type: { value: { case: 'tensorType', value } } };
  };
  const model = create(ModelProtoSchema, {
    irVersion: 8n,
    opsetImport: [{ domain: '', version: 17n }],
    graph: {
      name: 'twice',
      node: [{ opType: 'Add', input: ['x', 'x'], output: ['y'] }],
      input: [tensor('x')],
      output: [tensor('y')],
    },
  });
  writeFileSync(file('twice.onnx'), toBinary(ModelProtoSchema, model));
  const { code, out } = await kaon('inspect', file('twice.onnx'));
  assert.equal(code, 0);
  assert.match(out, /^inputs\n {2}x: float32\[n\]\n/);
  assert.equal((await kaon('convert', file('twice.onnx'), file('twice.json'))).code, 0);
  writeFileSync(file('three.npy'), encodeNpy({ dtype: 'float32', shape: [6], data: x }));
  const ran = await kaon('run', file('twice.json'), '--input', `x=${file('three.npy')}`);
  assert.equal(ran.out, `y = ${String(kn.array(x).mul(2))}\n`);
});

test('diff finds what only one of two graphs computes', async () => {
  const one = saved('one.json').path;
  const two = saved('two.json', 2).path;
  assert.deepEqual(await kaon('diff', one, one), { code: 0, out: '', error: '' });
  const { code, out } = await kaon('diff', one, two);
  assert.equal(code, 1);
  assert.match(out, /^- output output/m);
  assert.match(out, /^\+ mul/m);
  assert.doesNotMatch(out, /tanh/);

  const graph = JSON.parse(readFileSync(one, 'utf8')) as object;
  const other = kn.StaticGraph.fromJSON(graph);
  const [[name, parameter]] = other.parameters;
  parameter.assign(parameter.mul(2));
  writeFileSync(file('other.json'), JSON.stringify(other.toJSON()));
  const values = await kaon('diff', one, file('other.json'));
  assert.equal(values.code, 1);
  assert.equal(values.out, `! parameter ${name} has other values, from element 0 on\n`);
});

test('mistakes on the command line: code 2, and how it is meant, on the error stream', async () => {
  const { path } = saved('mistakes.json');
  const wrong: readonly [readonly string[], RegExp][] = [
    [[], /say what to do/],
    [['paint'], /no command paint/],
    [['inspect'], /takes a graph/],
    [['inspect', file('missing.json')], /missing\.json cannot be read/],
    [['inspect', path, '--colour'], /--colour/],
    [['diff', path], /takes two graphs/],
    [['convert', path, file('model.exe')], /are converted to/],
    [['run', path, '--input', 'input=x.txt'], /cannot be read/],
    [['run', path, '--input', file('missing.npy')], /cannot be read/],
  ];
  for (const [args, message] of wrong) {
    const { code, out, error } = await kaon(...args);
    assert.equal(code, 2, args.join(' '));
    assert.equal(out, '');
    assert.match(error, message);
    assert.match(error, /kaon inspect GRAPH/);
  }
});

test('graphs and inputs that do not fit: code 3, with the error of the library', async () => {
  const { path } = saved('failing.json');
  writeFileSync(file('text.json'), 'no graph');
  writeFileSync(file('wide.npy'), encodeNpy({ dtype: 'float32', shape: [1, 6], data: x }));
  const failing: readonly [readonly string[], RegExp][] = [
    [['inspect', file('text.json')], /is no graph/],
    [['run', path], /input input is missing/],
    [['run', path, '--input', `input=${file('wide.npy')}`], /another size/],
    [['run', path, '--input', `input=${file('text.json')}`], /inputs are read from/],
  ];
  for (const [args, message] of failing) {
    const { code, error } = await kaon(...args);
    assert.ok(code === 3 || /are read from/.test(error), args.join(' '));
    assert.match(error, message);
  }
});

test('the program: help on the output, errors on the error stream, exit codes', () => {
  const script = fileURLToPath(new URL('../../src/cli/index.js', import.meta.url));
  const run = (...args: readonly string[]): ReturnType<typeof spawnSync> =>
    spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });
  const help = run('--help');
  assert.equal(help.status, 0);
  assert.match(String(help.stdout), /Exit codes/);
  const wrong = run('paint');
  assert.equal(wrong.status, 2);
  assert.equal(wrong.stdout, '');
  assert.match(String(wrong.stderr), /no command paint/);
});
