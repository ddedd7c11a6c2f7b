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
import { loadGraph, saveGraph } from '../../examples/support/graph-files.js';
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

/** Runs a command line with something on its standard input. */
async function fed(input: Uint8Array, args: readonly string[]): Promise<Ran> {
  let [out, error] = ['', ''];
  const code = await command(args, {
    out: (text) => void (out += text),
    error: (text) => void (error += text),
    read: () => Promise.resolve(input),
  });
  return { code, out, error };
}

const kaon = (...args: readonly string[]): Promise<Ran> => fed(new Uint8Array(), args);

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
  assert.match(out, /^ {2}\d+ bytes where n is 1$/m);
  assert.match(out, /^ {2}\d+ bytes.* where n is 64$/m);
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

test('ONNX models that are written compute what the graph does, with weights inside and beside them', async () => {
  const { path, graph } = saved('written.json');
  const expected = `output = ${String(graph.run({ input: kn.array([[1, 2, 3]]) }).output)}\n`;
  const given = ['--input', 'input=[[1, 2, 3]]'];
  assert.equal((await kaon('convert', path, file('inside.onnx'), '--opset', '17', ...given)).code, 0); // prettier-ignore
  assert.equal((await kaon('run', file('inside.onnx'), ...given)).out, expected);
  assert.match((await kaon('inspect', file('inside.onnx'))).out, /^model\n {2}ONNX, .*opset 17/);

  kn.random.seed(1);
  const wide = kn.hybridize((x: kn.NDArray) => x.mul(weight.value));
  const weight = new kn.nn.Parameter({ shape: [1000], init: kn.nn.initializer.normal(1) });
  weight.initialize();
  writeFileSync(file('wide.json'), JSON.stringify(wide.graphFor(kn.ones([1000])).toJSON()));
  for (const name of ['wide.onnx', 'wide.c']) {
    const { code, out, error } = await kaon('convert', file('wide.json'), file(name), '--external');
    assert.equal(code, 0, error);
    assert.ok(out.split('\n').includes(file('wide.weights')), out);
    assert.equal(readFileSync(file('wide.weights')).length, 4000);
    rmSync(file('wide.weights'));
  }
  await kaon('convert', file('wide.json'), file('wide.onnx'), '--external');
  const same = kn.StaticGraph.fromJSON(JSON.parse(readFileSync(file('wide.json'), 'utf8')));
  const x1000 = JSON.stringify(Array.from({ length: 1000 }, (_, i) => i));
  const ran = await kaon('run', file('wide.onnx'), '--input', `input=${x1000}`);
  assert.equal(ran.out, `output = ${String(same.run({ input: kn.arange(1000) }).output)}\n`);
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
  assert.match(out, /^model\n {2}ONNX, version 8 of the format, opset 17\n\ninputs\n {2}x: float32\[n\]\n/); // prettier-ignore
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

test('the plan gives arrays that are needed at the same time places of their own', async () => {
  const { path } = saved('planned.json');
  const { code, out } = await kaon('inspect', path, '--plan', '--size', 'n=5');
  assert.equal(code, 0);
  assert.match(out, /^n is 5\n/);
  const row = /^ +(\d+) +(\d+) {2}(\w+) +(\w+) x (\d+) +(-?\d+) to (-?\d+)$/gm;
  const places = [...out.matchAll(row)].map(([, offset, bytes, what, , count, first, last]) => ({
    offset: Number(offset),
    bytes: Number(bytes),
    what,
    count: Number(count),
    first: Number(first),
    last: Number(last),
  }));
  const total = Number(/^(\d+) bytes.* in all$/m.exec(out)![1]);
  // The input has 5 rows of 3, the output 5 of 2.
  assert.ok(places.some(({ what, count }) => what === 'input' && count === 15));
  assert.ok(places.some(({ what, count }) => what === 'temporary' && count === 10));
  places.forEach((a, i) => {
    assert.equal(a.bytes, 4 * a.count);
    assert.ok(a.offset + a.bytes <= total);
    for (const b of places.slice(i + 1)) {
      if (a.first > b.last || b.first > a.last) continue;
      assert.ok(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset);
    }
  });
});

test('operators of loops and branches are counted', async () => {
  const f = kn.hybridize((rows: kn.NDArray) =>
    kn.foreach((row, sum: kn.NDArray) => [[], sum.add(row.sin())], rows, kn.zeros([2])),
  );
  const graph = f.graphFor(kn.ones([3, 2]));
  writeFileSync(file('loop.json'), JSON.stringify(graph.toJSON()));
  const { out } = await kaon('inspect', file('loop.json'));
  assert.match(out, /^ {2}1 foreach$/m);
  assert.match(out, /^ {2}1 sin$/m);
});

test('numbers and lists may stand on the command line, graphs on the standard input', async () => {
  const { path, graph } = saved('written.json');
  const expected = `output = ${String(graph.run({ input: kn.array([[1, -2.5, 3]]) }).output)}\n`;
  const given = ['--input', 'input=[[1, -2.5, 3]]'];
  assert.deepEqual(await kaon('run', path, ...given), { code: 0, out: expected, error: '' });
  const piped = await fed(readFileSync(path), ['run', '-', ...given]);
  assert.deepEqual(piped, { code: 0, out: expected, error: '' });
  assert.equal((await fed(readFileSync(path), ['diff', '-', path])).code, 0);
});

test('a training step is converted where that is asked for, and checked on inputs', async () => {
  const weight = new kn.nn.Parameter({ shape: [2], init: kn.nn.initializer.ones });
  weight.initialize();
  const step = kn.hybridize((x: kn.NDArray) => weight.assign(weight.value.mul(x)));
  writeFileSync(file('step.json'), JSON.stringify(step.graphFor(kn.ones([2])).toJSON()));
  const refused = await kaon('convert', file('step.json'), file('step.mjs'));
  assert.equal(refused.code, 2);
  assert.match(refused.error, /--train allows that/);
  assert.ok(!existsSync(file('step.mjs')));
  const checked = ['--train', '--input', 'input=[2, 3]'];
  assert.equal((await kaon('convert', file('step.json'), file('step.mjs'), ...checked)).code, 0);
  const model = (await import(file('step.mjs'))) as {
    readonly stateNames: readonly string[];
    run(feeds: object): object;
    getState(name: string): { readonly data: Float32Array };
  };
  model.run({ input: [2, 3] });
  model.run({ input: [2, 3] });
  assert.deepEqual([...model.getState(model.stateNames[0]).data], [4, 9]);
  const wrong = await kaon('convert', file('step.json'), file('other.mjs'), '--train', '--input', 'input=[1]'); // prettier-ignore
  assert.equal(wrong.code, 3);
  assert.match(wrong.error, /another size/);
  assert.ok(!existsSync(file('other.mjs')));
});

/** A graph whose state is a weight that each run multiplies by the input; returns the product. */
function multiplies(name: string): string {
  const weight = new kn.nn.Parameter({ shape: [2], init: kn.nn.initializer.ones });
  weight.initialize();
  const step = kn.hybridize((x: kn.NDArray) => {
    const next = weight.value.mul(x);
    weight.assign(next);
    return next.sum();
  });
  writeFileSync(file(name), JSON.stringify(step.graphFor(kn.ones([2])).toJSON()));
  return file(name);
}

test('run saves the graph with the state that it has left, for the next run', async () => {
  const given = ['--input', 'input=[2, 3]'];
  const path = multiplies('count.json');
  const before = readFileSync(path, 'utf8');
  // 2 + 3 each time where nothing is saved; then 2 + 3, 4 + 9, 8 + 27.
  for (const sum of [5, 5]) {
    assert.equal((await kaon('run', path, ...given)).out, `output = array(${sum}.)\n`);
  }
  assert.equal(readFileSync(path, 'utf8'), before);
  for (const sum of [5, 13]) {
    const ran = await kaon('run', path, ...given, '--save', path);
    assert.deepEqual(ran, { code: 0, out: `output = array(${sum}.)\n`, error: '' });
  }
  const model = file('count.onnx');
  assert.equal((await kaon('run', path, ...given, '--save', model)).out, 'output = array(35.)\n');
  assert.equal((await kaon('run', model, ...given, '--save', model)).out, 'output = array(97.)\n');
  assert.equal((await kaon('run', model, ...given, '--save', path)).out, 'output = array(275.)\n');
});

test('states become plain inputs of a model, with their values in a file', async () => {
  const [model, begin, next] = ['plain.onnx', 'begin.safetensors', 'next.safetensors'].map(file);
  const written = await kaon('convert', multiplies('plain.json'), model, '--states', begin, '--input', 'input=[2, 3]'); // prettier-ignore
  assert.deepEqual(written, { code: 0, out: `${model}\n${begin}\n`, error: '' });
  const [[name, { data }]] = [...decodeSafetensors(readFileSync(begin)).tensors];
  assert.deepEqual([...(data as Float32Array)], [1, 1]);
  const run = (...from: readonly string[]): Promise<Ran> => kaon('run', model, '--input', 'input=[2, 3]', ...from); // prettier-ignore
  assert.equal((await run('--input', begin, '--out', next)).code, 0);
  const left = decodeSafetensors(readFileSync(next)).tensors.get(`${name}.next`)!;
  writeFileSync(file('left.npy'), encodeNpy(left));
  assert.match(
    (await run('--input', `${name}=${file('left.npy')}`)).out,
    /^output = array\(13\.\)\n/,
  );
  assert.equal((await run()).code, 3);
});

test('an input with the name of another graph’s parameter is another thing', async () => {
  const given = kn.hybridize((w: kn.NDArray) => w.exp());
  writeFileSync(file('given.json'), JSON.stringify(given.graphFor(kn.ones([2])).toJSON()));
  const own = new kn.nn.Parameter({ shape: [2], init: kn.nn.initializer.ones });
  own.name = 'input';
  own.initialize();
  const held = kn.hybridize(() => own.value.exp());
  writeFileSync(file('held.json'), JSON.stringify(held.graphFor().toJSON()));
  const { code, out } = await kaon('diff', file('given.json'), file('held.json'));
  assert.equal(code, 1);
  assert.match(out, /^- input input: float32\[2\]$/m);
  assert.match(out, /^\+ state .*: float32\[2\]$/m);
});

test('mistakes on the command line: code 2, and how it is meant, on the error stream', async () => {
  const { path } = saved('mistakes.json');
  writeFileSync(
    file('x.safetensors'),
    encodeSafetensors({ tensors: new Map(), metadata: new Map() }),
  );
  const two = 'input=[[1, 2, 3]]';
  const wrong: readonly [readonly string[], RegExp][] = [
    [[], /say what to do/],
    [['paint'], /no command paint/],
    [['inspect'], /give one graph/],
    [['inspect', path, '--color'], /--color/],
    [['inspect', path, '--train'], /no option --train/],
    [['inspect', path, '--text', '--plan'], /not both/],
    [['inspect', path, '--size', 'n=few'], /NAME=N/],
    [['inspect', path, '--size', 'm=2'], /no such size; its sizes: n/],
    [['diff', path], /give two graphs; these are 1/],
    [['diff', '-', '-'], /only one of the graphs/],
    [['convert', path, file('model.exe')], /are converted to/],
    [['convert', path, file('my-model.c')], /my_model\.c would do/],
    [['convert', path, file('model.mjs'), '--opset', '17'], /does not apply to \.mjs/],
    [['convert', path, file('model.onnx'), '--opset', 'new'], /not a whole number/],
    [['convert', path, file('model.mjs'), '--external'], /does not apply to \.mjs/],
    [['convert', path, file('model.txt'), '--train'], /does not apply to \.txt/],
    [['convert', path, file('model.txt'), '--input', two], /does not apply to \.txt/],
    [['run', path, '--input', 'input=x.txt'], /give NAME=FILE/],
    [['run', path, '--input', 'input=["x"]'], /give NAME=FILE/],
    [['run', path, '--input', 'x.npy'], /name the input/],
    [['run', path, '--input', two, '--input', two], /given twice/],
    [['run', path, '--input', `input=${file('x.safetensors')}`], /the file holds/],
    [['run', path, '--input', two, '--out', file('y.txt')], /to \.safetensors and \.npy/],
    [['run', path, '--input', two, '--save', file('y.mjs')], /saved as \.json and \.onnx/],
    [['convert', path, file('a.onnx'), '--states', file('b.npy')], /to a \.safetensors file/],
    [
      ['convert', path, file('a.mjs'), '--states', file('b.safetensors')],
      /does not apply to \.mjs/,
    ],
  ];
  for (const [args, message] of wrong) {
    const { code, out, error } = await kaon(...args);
    assert.equal(code, 2, `${args.join(' ')}: ${error}`);
    assert.equal(out, '');
    assert.match(error, message);
    assert.match(error, /kaon (inspect|run|convert) GRAPH|kaon diff GRAPH GRAPH/);
  }
});

test('files, graphs and inputs that do not fit: code 3, with what is wrong', async () => {
  const { path } = saved('failing.json');
  const input = 'input=[[1, 2, 3]]';
  writeFileSync(file('text.json'), 'no graph');
  writeFileSync(file('list.json'), '[1, 2]');
  writeFileSync(file('cut.onnx'), Uint8Array.of(8, 8, 0x3a, 200));
  writeFileSync(file('cut.npy'), 'NUMPY');
  writeFileSync(file('wide.npy'), encodeNpy({ dtype: 'float32', shape: [1, 6], data: x }));
  writeFileSync(file('long.npy'), encodeNpy({ dtype: 'int64', shape: [0, 3], data: new BigInt64Array() })); // prettier-ignore
  const failing: readonly [readonly string[], RegExp][] = [
    [['inspect', file('missing.json')], /missing\.json cannot be read: ENOENT/],
    [['inspect', folder], /cannot be read: EISDIR/],
    [['inspect', file('text.json')], /text\.json: this is neither/],
    [['inspect', file('list.json')], /list\.json: /],
    [['inspect', file('cut.onnx')], /cut\.onnx: /],
    [['run', path], /input input is missing/],
    [['run', path, '--input', `input=${file('missing.npy')}`], /cannot be read/],
    [['run', path, '--input', `input=${file('cut.npy')}`], /cut\.npy: this is not a NumPy file/],
    [['run', path, '--input', `input=${file('wide.npy')}`], /another size/],
    [['run', path, '--input', `input=${file('long.npy')}`], /another dtype/],
    [['run', path, '--input', 'input=[[1, 2, 3], [4]]'], /one length/],
    [['run', path, '--input', input, '--input', 'y=1'], /no input y/],
    [['run', path, '--input', input, '--out', file('no/y.npy')], /cannot be written: ENOENT/],
    [['convert', path, file('no/model.mjs')], /cannot be written: ENOENT/],
    [['convert', path, file('model.onnx'), '--opset', '3'], /3/],
  ];
  for (const [args, message] of failing) {
    const { code, out, error } = await kaon(...args);
    assert.equal(code, 3, `${args.join(' ')}: ${error}`);
    assert.equal(out, '');
    assert.match(error, message);
  }
});

test('each command says what it takes', async () => {
  for (const name of ['inspect', 'run', 'convert', 'diff']) {
    const { code, out, error } = await kaon(name, '--help');
    assert.deepEqual([code, error], [0, '']);
    assert.match(out, new RegExp(`^kaon ${name} GRAPH`));
  }
});

test('the program: streams, exit codes, and a reader that has read enough', () => {
  const script = fileURLToPath(new URL('../../src/cli/index.js', import.meta.url));
  const run = (input: string, ...args: readonly string[]): ReturnType<typeof spawnSync> =>
    spawnSync(process.execPath, [script, ...args], { encoding: 'utf8', input });
  const help = run('', '--help');
  assert.equal(help.status, 0);
  assert.match(String(help.stdout), /Exit codes/);
  const wrong = run('', 'paint');
  assert.equal(wrong.status, 2);
  assert.equal(wrong.stdout, '');
  assert.match(String(wrong.stderr), /no command paint/);
  const { path } = saved('piped.json');
  const piped = run(readFileSync(path, 'utf8'), 'inspect', '-');
  assert.equal(piped.status, 0);
  assert.match(String(piped.stdout), /^inputs\n/);
  if (process.platform === 'win32') return;
  const cut = spawnSync('sh', ['-c', '"$0" "$1" inspect "$2" --text | true', process.execPath, script, path], { encoding: 'utf8' }); // prettier-ignore
  assert.equal(cut.stderr, '');
});

test('inspect and run open the files that the examples save', async () => {
  const { graph } = saved('unused.json');
  const path = file('example.json');
  saveGraph(path, graph, { alphabet: ['a'] });
  const inspected = await kaon('inspect', path);
  assert.deepEqual([inspected.code, inspected.error], [0, '']);
  writeFileSync(file('example.npy'), encodeNpy({ dtype: 'float32', shape: [2, 3], data: x }));
  const ran = await kaon('run', path, '--input', `input=${file('example.npy')}`);
  assert.deepEqual([ran.code, ran.error], [0, '']);
  assert.deepEqual(loadGraph(path).notes, { alphabet: ['a'] });
});
