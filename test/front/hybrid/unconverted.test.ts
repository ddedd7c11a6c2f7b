import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { transform } from '../../../src/source/index.js';
import { converted, original } from '../../source/convert.js';

type OfArray = (a: kn.NDArray) => kn.NDArray;

const bodies = [
  `'use graph'; return a.add(1);`,
  `"use graph"\nreturn a.greater(1) ? a : a.add(1);`,
  `// a comment\n'use something'; /* { 'x' } */ 'use graph';\nreturn a.add(1);`,
];

for (const body of bodies) {
  const code = `function main(a, { b } = {}) { ${body} }`;
  test(`captured only when converted: ${body}`, () => {
    const plain = original(code) as unknown as OfArray;
    for (const capture of [kn.hybridize, kn.staticGraph as typeof kn.hybridize]) {
      assert.throws(() => capture(plain)(kn.array(3)), {
        code: 'KAON_TRACE',
        advice: /transform\(code, \{ filename \}\) of kaon\/source/,
      });
    }
    const done = converted(code) as unknown as OfArray;
    assert.equal(kn.hybridize(done)(kn.array(1)).item(), 2);
  });

  test(`what is converted is not converted again: ${body}`, () => {
    const once = transform(code, { filename: 'a.js' })!;
    assert.equal(transform(once.code, { filename: 'a.js' }), null);
  });
}

test('other mentions of the directive are no directive', () => {
  const f = original(`function main(a) { const text = 'use graph'; return a.add(text.length); }`);
  assert.equal(
    kn
      .hybridize(f as unknown as OfArray)(kn.array(1))
      .item(),
    10,
  );
});

test('blocks are captured only when their forward is converted', () => {
  class Net extends kn.nn.HybridBlock {
    override forward(a: kn.NDArray): kn.NDArray {
      'use graph';
      return a.add(1);
    }
  }
  assert.throws(() => new Net().hybridize(), { code: 'KAON_TRACE' });
});
