import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import {
  type Footprint,
  footprint,
  inChild,
  isLong,
  servedCase,
  settle,
  startCounting,
} from './child.js';

/** What lazy arrays keep alive: what they wait for and what an export may ask for, and nothing else. */

const steps = isLong ? 100_000 : 40_000;
/** Elements of each array, 4 KB: in so long a chain it shows when they are kept. */
const size = 1024;

/** Runs `make` in a frame of its own, then tells which of what it made is still there. */
async function collected<K>(
  make: () => { readonly kept: K; readonly watched: Readonly<Record<string, object>> },
): Promise<{ readonly kept: K; readonly gone: Readonly<Record<string, boolean>> }> {
  const watch = (): { kept: K; refs: (readonly [string, WeakRef<object>])[] } => {
    const { kept, watched } = make();
    const refs = Object.entries(watched).map(([name, each]) => [name, new WeakRef(each)] as const);
    return { kept, refs };
  };
  const { kept, refs } = watch();
  await settle();
  const gone = refs.map(([name, ref]) => [name, ref.deref() === undefined] as const);
  return { kept, gone: Object.fromEntries(gone) };
}

function twoCalls(): { readonly x: kn.NDArray; readonly y: kn.NDArray; readonly z: kn.NDArray } {
  const x = kn.ones([size]);
  const [y, z] = kn.deferredCompute(() => {
    const inner = x.add(1);
    return [inner, inner.mul(2)];
  });
  return { x, y, z };
}

const cases = {
  /** A chain of deferred calls that is read now and then and goes on from the value. */
  chain: () => {
    startCounting();
    let before: Footprint | undefined;
    let h = kn.zeros([size]);
    for (let i = 1; i <= steps; i++) {
      h = kn.deferredCompute(() => h.add(1));
      if (i % 100 === 0) h = h.detach();
      if (i === steps / 5) before = footprint();
    }
    return { before, after: footprint(), value: h.slice(size - 1).item() };
  },
  /** A chain that nobody reads before its end, and then drops. */
  'long wait': async () => {
    const value = (): unknown => {
      let h = kn.zeros([size]);
      kn.deferredCompute(() => {
        for (let i = 0; i < 10_000; i++) h = h.add(1);
      });
      return h.slice(size - 1).item();
    };
    value();
    await settle();
    const before = footprint();
    const found = value();
    await settle();
    return { before, after: footprint(), value: found };
  },
  dropped: () =>
    collected(() => {
      const arrays = twoCalls();
      return { kept: arrays.z.slice(0).item(), watched: { ...arrays } };
    }),
  unread: () => collected(() => ({ kept: null, watched: { ...twoCalls() } })),
  waiting: async () => {
    const { kept, gone } = await collected(() => {
      const { x, y, z } = twoCalls();
      return { kept: z, watched: { x, y } };
    });
    return { gone, kept: kept.slice(0).item() };
  },
  exported: async () => {
    const { kept, gone } = await collected(() => {
      const { x, y, z } = twoCalls();
      kn.compute(y, z);
      return { kept: { x, z }, watched: { y } };
    });
    const graph = kn.exportGraph({ inputs: { x: kept.x }, outputs: { z: kept.z } });
    return {
      gone,
      kept: graph
        .run({ x: kn.full([size], 2) })
        .z.slice(0)
        .item(),
    };
  },
  detached: () =>
    collected(() => {
      const { x, y, z } = twoCalls();
      return { kept: z.detach().slice(0).item(), watched: { x, y, z } };
    }),
  eager: async () => {
    const { kept, gone } = await collected(() => {
      const { x, y, z } = twoCalls();
      return { kept: z.add(y), watched: { x, y, z } };
    });
    return { gone, kept: kept.slice(0).item() };
  },
  captured: async () => {
    const { kept, gone } = await collected(() => {
      const weights = kn.ones([size]);
      const f = kn.hybridize((x: kn.NDArray) => x.mul(weights).mul(2).add(1));
      const x = kn.ones([size]);
      return { kept: [f(x), f(x)], watched: { x, weights, f } };
    });
    return { gone, kept: kept[1].slice(0).item() };
  },
  recorded: () =>
    collected(() => {
      const [weights, x] = [kn.ones([size]), kn.ones([size])];
      weights.attachGrad();
      const loss = kn.autograd.record(() => x.mul(weights).mul(2).add(1).sum());
      loss.backward();
      return { kept: loss.item(), watched: { weights, x, loss } };
    }),
};

interface Chain {
  readonly before: Footprint;
  readonly after: Footprint;
  readonly value: number;
}

if (!(await servedCase(cases))) {
  for (const [name, value] of [
    ['chain', steps],
    ['long wait', 10_000],
  ] as const) {
    test(`the history of lazy arrays goes with them: ${name}`, () => {
      const { before, after, value: found } = inChild<Chain>(import.meta.url, name);
      assert.equal(found, value);
      assert.ok(after.heap - before.heap < 2 ** 19, `${after.heap - before.heap} bytes of heap`);
      assert.ok(
        after.buffers - before.buffers < 2 ** 18,
        `${after.buffers - before.buffers} bytes of buffers`,
      );
    });
  }

  for (const [name, what, expected] of [
    [
      'dropped',
      'nothing is left of lazy arrays that were read and dropped',
      { kept: 4, gone: { x: true, y: true, z: true } },
    ],
    [
      'unread',
      'nothing is left of lazy arrays that were dropped unread',
      { kept: null, gone: { x: true, y: true, z: true } },
    ],
    [
      'waiting',
      'a lazy array that waits keeps what it needs, and can be computed',
      { kept: 4, gone: { x: false, y: false } },
    ],
    [
      'exported',
      'one that was read keeps its history, since it can still be exported',
      { kept: 6, gone: { y: false } },
    ],
    [
      'detached',
      'its value alone keeps no history',
      { kept: 4, gone: { x: true, y: true, z: true } },
    ],
    [
      'eager',
      'what eager code computes from lazy arrays keeps none of them',
      { kept: 6, gone: { x: true, y: true, z: true } },
    ],
    [
      'captured',
      'the results of a captured function keep neither it nor what it used',
      { kept: 3, gone: { x: true, weights: true, f: true } },
    ],
    [
      'recorded',
      'nothing is left of a recording that was dropped',
      { kept: 3 * size, gone: { weights: true, x: true, loss: true } },
    ],
  ] as const) {
    test(what, () => {
      assert.deepEqual(inChild(import.meta.url, name), expected);
    });
  }
}
