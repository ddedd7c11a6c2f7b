import assert from 'node:assert/strict';
import { test } from 'node:test';
import { graphText } from '../../../src/front/graphs/graph-text.js';
import * as kn from '../../../src/index.js';
import { printProgram } from '../../../src/ir/formats/text.js';
import { operator } from '../../../src/ops/declare/declare.js';
import { parse } from '../../support/program-texts.js';

test('types, source lines, and the group of every operator', () => {
  const text = graphText(
    parse(`program {
      input x: float32[n, 4]
      input w: float32[4, 2]
      %0 = exp(x): float32[n, 4]  // model.ts:3:11
      %1 = matmul(%0, w): float32[n, 2]
      %2 = identity(%1): float32[n, 2]  // model.ts:5:1
      %3 = relu(%2): float32[n, 2]  // model.ts:6:1
      %4 = neg(x): float32[n, 4]  // model.ts:7:1
      output y = %3
    }`),
  );
  const lines = text.trimEnd().split('\n');
  const note = (op: string): string =>
    lines.find((line) => line.includes(`= ${op}(`))!.split('  // ')[1];
  assert.match(note('exp'), /^model\.ts:3:11 \[groups? \d/);
  assert.match(note('matmul'), /^\[groups? \d/);
  assert.equal(note('identity'), 'model.ts:5:1 [no group]');
  assert.match(note('relu'), /^model\.ts:6:1 \[groups? \d/);
  assert.equal(note('neg'), 'model.ts:7:1 [no group]');
  const groups = lines.filter((line) => line.startsWith('// group'));
  assert.ok(groups.length >= 1);
  const [last] = groups.slice(-1);
  assert.match(last, /matmul %1, relu %3; reads .*; writes relu %3: float32\[n, 2\]; .*n.* bytes$/);
});

test('what an operator becomes is told on its line, in regions too', () => {
  const text = graphText(
    parse(`program {
      input x: float32[4, 8]
      %0 = call(x) {saved: [], flows: [], wrt: [], gives: []} [@0 {
        input a: float32[4, 8]
        %0 = softmax(a) {axis: -1}: float32[4, 8]  // deep.ts:1:1
        output b = %0
      }]: float32[4, 8]  // model.ts:1:1
      output y = %0
    }`),
  );
  assert.match(text, /softmax.*deep\.ts:1:1 \[groups? \d/);
  assert.match(text, /}\]: float32\[4, 8\]  \/\/ model\.ts:1:1 \[no group\]/);
  assert.match(text, /^\/\/ group \d: .*boundedExp/m);
});

test('the text reads back to the program itself, sources included', () => {
  for (const [index, body] of [
    '%0 = add(x, x): float32[n]\n output y = %0',
    '%0 = add(x, x): float32[n]  // a.ts:1:1\n output y = %0',
    '%0 = flatten(x): float32[n]  // at [top] of a.ts:1:1\n output y = %0',
    '%0 = constant float32[] [1]\n %1 = sub(x, %0): float32[n]\n output y = %1\n output z = x',
  ].entries()) {
    const program = parse(`program {\n input x: float32[n]\n ${body}\n}`);
    assert.equal(printProgram(parse(graphText(program))), printProgram(program), `${index}`);
  }
});

test('a comment on a line of its own is no source of the line before', () => {
  const program = parse(`program {
    input x: float32[n]
    %0 = exp(x): float32[n]
    // a note
    %1 = neg(%0): float32[n]  // a.ts:1:1
    // another
    output y = %1
  }`);
  const sources = [...program.graph.nodes()].map((id) => {
    const node = program.node(id);
    return node.kind === 'call' ? node.source : undefined;
  });
  assert.deepEqual(sources, [undefined, undefined, 'a.ts:1:1']);
});

test('a graph that cannot be compiled says why instead', () => {
  // How many elements there are is up to the data.
  const positive = operator<(x: kn.NDArray) => kn.NDArray, Record<never, never>>({
    name: 'positiveOnes',
    family: 'structure',
    attributes: {},
    call: (x) => ({ inputs: [x], attributes: {} }),
    infer: ({ inputs: [x], fresh }) => [{ dtype: x.dtype, shape: [fresh('count')] }],
    gradient: 'none',
    lowering: { kind: 'kernel', kernel: () => ({ kind: 'block', body: [] }) },
    samples: [],
  }).declaration;
  const program = parse(
    `program {
      input x: float32[3]
      %0 = positiveOnes(x): float32[count_0]
      output y = %0
    }`,
    [positive],
  );
  const text = graphText(program);
  assert.ok(text.startsWith(printProgram(program)));
  assert.match(text, /^\/\/ no groups, since it does not compile: .*count_0/m);
});

test('StaticGraph.toString shows where its operators were written', () => {
  const x = kn.ones([3]);
  const y = kn.deferredCompute(() => x.exp().mul(2));
  const text = kn.exportGraph({ inputs: { x }, outputs: { y } }).toString();
  assert.match(
    text,
    /exp\(x\): float32\[3\] {2}\/\/ .*graph-text\.test\.\w+:\d+:\d+\)? \[group 0\]/,
  );
  assert.match(
    text,
    /^\/\/ group 0: exp %0, mul %2; reads x; writes mul %2: float32\[3\]; 24 bytes$/m,
  );
});

test('a program whose data decides sizes: the groups of all its parts, numbered on', () => {
  const text = graphText(
    parse(`program {
      dim 0 <= count_0 <= 5
      input x: float32[5]
      %0 = tanh(x): float32[5]  // model.ts:1:1
      %1 = greater(%0, x): bool[5]  // model.ts:2:1
      %2 = booleanMask(%0, %1): float32[count_0]  // model.ts:3:1
      %3 = sum(%2) {axes: null, keepdims: false}: float32[]  // model.ts:4:1
      output y = %3
    }`),
  );
  const lines = text.trimEnd().split('\n');
  const parts = lines.filter((line) => /^\/\/ (island|group)/.test(line));
  assert.match(
    parts.join('\n'),
    /^\/\/ island 0:\n(\/\/ group.*\n)+\/\/ island 1:\n(\/\/ group.*\n?)+$/,
  );
  const numbers = [...text.matchAll(/^\/\/ group (\d+)/gm)].map(([, number]) => Number(number));
  assert.deepEqual(
    numbers,
    numbers.map((_, i) => i),
  );
  const first = numbers.length - lines.slice(lines.indexOf('// island 1:') + 1).length;
  const groupsOf = (op: string): number[] => {
    const [, list] = / \[groups? ([\d, ]+)\]$/.exec(lines.find((line) => line.includes(`= ${op}(`))!)!; // prettier-ignore
    return list.split(', ').map(Number);
  };
  assert.ok(groupsOf('tanh').every((group) => group < first));
  assert.ok(groupsOf('sum').every((group) => group >= first));
  // Counted before the cut, gathered behind it.
  assert.ok(groupsOf('booleanMask').some((group) => group < first));
  assert.ok(groupsOf('booleanMask').some((group) => group >= first));
});
