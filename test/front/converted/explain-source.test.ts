import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { converted, original } from '../../source/convert.js';

type OfArray = (x: kn.NDArray) => kn.NDArray;

const code = `function main(x) {
  'use graph';
  let n = 0;
  while (x.greater(1)) {
    x = x.div(2);
    n++;
  }
  return x.mul(n);
}`;

/** Derived by hand: the next iteration needs x and n, and so does what follows. */
const loop: kn.SourceConstruct = {
  kind: 'while',
  line: 4,
  column: 3,
  depth: 0,
  reads: ['x', 'n'],
  carries: ['x', 'n'],
  returns: ['x', 'n'],
  local: [],
  leavesBy: [],
};

test('a converted function tells of its loops, whatever it was made into', () => {
  const f = converted(code) as unknown as OfArray;
  for (const each of [f, kn.hybridize(f), kn.staticGraph(f), kn.hybridize(kn.hybridize(f))]) {
    const told = kn.explainSource(each);
    assert.deepEqual(told.constructs, [loop]);
    assert.equal(
      String(told),
      `main: 1 branch or loop
  while at 4:3
    reads x, n
    carries x, n
    returns x, n`,
    );
  }
});

test('a converted function without branches has none to tell of', () => {
  const f = converted("const main = (x) => { 'use graph'; return x; };") as unknown as OfArray;
  assert.deepEqual(kn.explainSource(f).constructs, []);
  assert.equal(String(kn.explainSource(f)), 'main: 0 branches and loops');
});

test('explain of a captured function says where the source is explained', () => {
  const f = converted(code) as unknown as OfArray;
  for (const capture of [kn.hybridize, kn.staticGraph as typeof kn.hybridize]) {
    const captured = capture(f);
    captured(kn.array(12));
    assert.equal(captured.explain().isConverted, true);
    assert.match(String(captured.explain()), /explainSource tells of its branches and loops/);
    const plain = capture((x: kn.NDArray) => x.add(1));
    assert.equal(plain.explain().isConverted, false);
    assert.doesNotMatch(String(plain.explain()), /explainSource/);
  }
});

test('blocks tell of their forward', () => {
  const made = converted(
    `const main = (kn) => class Net extends kn.nn.HybridBlock {
    forward(x) { 'use graph'; return x.greater(1) ? x : x.mul(2); }
  }`.replace('(kn) =>', "(kn) => { 'use graph'; return") + ';}',
  ) as unknown as (given: typeof kn) => new () => kn.nn.HybridBlock;
  const net = new (made(kn))();
  net.hybridize();
  assert.equal(net.explain().isConverted, true);
});

test('a function that was not converted is refused', () => {
  const plain = original(code.replace("'use graph'", "'use strict'"));
  assert.throws(() => kn.explainSource(plain), {
    code: 'KAON_ARGUMENT',
    op: 'explainSource',
    expected: /'use graph'/,
  });
  assert.throws(() => kn.explainSource(3 as never), { code: 'KAON_ARGUMENT' });
});
