import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as e from '../../../src/loop/language/build.js';
import { ExtentParameters } from '../../../src/loop/language/extents.js';
import type { Expr } from '../../../src/loop/language/nodes.js';
import { kernelText } from '../../../src/loop/language/text.js';
import {
  type NestLoop,
  loopToShare,
  nest,
  planLoops,
  type Probe,
} from '../../../src/ops/nests/nest.js';

const x = e.buffer('x', 'f32');
const out = e.buffer('out', 'f32');

/** Reads an array of a shape in its own order. */
function inOrder(shape: readonly number[]): (index: readonly Expr[]) => Probe {
  return (index) => {
    const at = index.reduce((flat, i, axis) => e.add(e.mul(flat, shape[axis]), i), e.i32(0));
    return { values: [e.load(x, at)], addresses: [] };
  };
}

function loopsOf(shape: readonly number[], folded: readonly number[]): readonly NestLoop[] {
  return planLoops(new ExtentParameters(), shape, inOrder(shape), new Set(folded)).loops;
}

const described = (loops: readonly NestLoop[]): string =>
  loops
    .map(({ axes, isIndependent }) => `${axes.join('')}${isIndependent ? '' : ' folded'}`)
    .join();

describe('planLoops', () => {
  it('makes independent loops of a domain that nothing folds', () => {
    assert.equal(described(loopsOf([4, 5, 6], [])), '012');
    assert.equal(described(loopsOf([7], [])), '0');
  });

  it('keeps what is folded apart from what is not', () => {
    assert.equal(described(loopsOf([4, 5, 6], [1])), '0,1 folded,2');
    assert.equal(described(loopsOf([4, 5, 6], [1, 2])), '0,12 folded');
    assert.equal(described(loopsOf([4, 5, 6], [0])), '0 folded,12');
    assert.equal(described(loopsOf([4, 1, 6], [0, 1])), '0 folded,2');
    assert.equal(described(loopsOf([9], [0])), '0 folded');
  });
});

describe('loopToShare', () => {
  const all = (): number => 1;

  it('divides the outermost independent loop of many steps, never one that folds', () => {
    const loops = loopsOf([50, 60, 70], [0]);
    assert.deepEqual(loopToShare(loops, all)?.loop.axes, [1, 2]);
    assert.equal(loopToShare(loopsOf([50], [0]), all), null);
    assert.deepEqual(loopToShare(loopsOf([3, 50, 70], [1]), all)?.loop.axes, [2]);
  });

  it('divides nothing where steps are too few or must stay together', () => {
    assert.equal(loopToShare(loopsOf([1, 1], []), all), null);
    assert.equal(loopToShare(loopsOf([64], []), () => 64), null); // prettier-ignore
    assert.equal(loopToShare(loopsOf([64], []), () => 0), null); // prettier-ignore
  });
});

describe('nest', () => {
  it('makes a parallel range of the loop that is shared', () => {
    const loops = loopsOf([3, 70, 5], [1]).filter(({ isIndependent }) => isIndependent);
    const [first, last] = loops;
    const body = ([i, j]: readonly Expr[]): ReturnType<typeof e.store> =>
      e.store(out, e.add(e.mul(i, 5), j), e.constant('f32', 1));
    const text = (shared: NestLoop, step: number): string =>
      kernelText(e.kernel('k', [out], nest(loops, body, 'vector', { loop: shared, step })));
    assert.equal(
      text(first, 1),
      [
        'kernel k(out: f32[]) {',
        '  parallel from..to in 0..3 {',
        '    for i0 in from..to {',
        '      vector for i2 in 0..5 {',
        '        out[i0 * 5 + i2] = 1.0',
        '      }',
        '    }',
        '  }',
        '}\n',
      ].join('\n'),
    );
    assert.match(text(last, 4), /for i0 in 0..3 {\n {4}parallel from..to in 0..5 step 4 {/);
  });
});
