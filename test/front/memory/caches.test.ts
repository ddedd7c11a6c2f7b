import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import {
  type Footprint,
  inChild,
  isLong,
  servedCase,
  settle,
  settledFootprint,
  startCounting,
} from './child.js';

/** How many traces one function keeps, and how many executables one operator. */
const limits = { traces: 64, executables: 512 } as const;

const calls = isLong ? 1000 : 120;
const eagerCalls = isLong ? 2000 : 560;

interface Report {
  readonly before: Footprint;
  readonly half: Footprint;
  readonly after: Footprint;
  readonly traces: number;
  readonly evicted: number;
}

/** Calls `use` with 0, 1, 2, ... and pauses now and then, as a program does that waits for its input. */
async function measure(
  count: number,
  use: (i: number) => void,
  explain: () => kn.Explanation | null = () => null,
): Promise<Report> {
  startCounting();
  const before = await settledFootprint();
  let half = before;
  for (let i = 0; i < count; i++) {
    use(i);
    if (i % 50 === 49) await settle();
    if (i === Math.floor((count * 2) / 3)) half = await settledFootprint();
  }
  const after = await settledFootprint();
  const explanation = explain();
  return {
    before,
    half,
    after,
    traces: explanation?.traces.length ?? 0,
    evicted: explanation?.evicted ?? 0,
  };
}

function check(found: unknown, expected: number): void {
  if (found !== expected) throw new Error(`computed ${String(found)} instead of ${expected}`);
}

/** Sizes of 1, 2 and 3 in every order: no pattern of equal sizes and sizes of 1 is another's. */
function pattern(i: number): number[] {
  return Array.from({ length: 7 }, (_, axis) => 1 + (Math.floor(i / 3 ** axis) % 3));
}

const cases = {
  shapes: () => {
    const f = kn.hybridize((x: kn.NDArray) => x.mul(x.shape[0]).sum(), { name: 'shapes' });
    return measure(calls, (i) => check(f(kn.ones([i + 1])).item(), (i + 1) ** 2), f.explain);
  },
  'static arguments': () => {
    const f = kn.hybridize((x: kn.NDArray, tag: { name: string }) => x.mul(tag.name.length).sum());
    const x = kn.ones([8]);
    const use = (i: number): void => {
      const name = String(i).padStart(4, '0');
      for (let call = 0; call < 2; call++) check(f(x, { name }).item(), 8 * 4);
    };
    return measure(calls, use, f.explain);
  },
  functions: () => {
    const x = kn.ones([8]);
    return measure(calls, (i) => {
      const weights = kn.full([8], i);
      const f = kn.hybridize((a: kn.NDArray) => a.mul(weights).add(1).sum());
      for (let call = 0; call < 2; call++) check(f(x).item(), 8 * (i + 1));
    });
  },
  'training steps': () =>
    measure(calls, (i) => {
      const weight = new kn.nn.Parameter({ shape: [4096] });
      weight.assign(new Float32Array(4096).fill(i));
      const optimizer = new kn.optim.Adam(new Map([['w', weight]]), { learningRate: 0.5 });
      const step = kn.hybridize((a: kn.NDArray) => {
        kn.autograd.record(() => weight.value.mul(a).mul(0).sum()).backward();
        optimizer.step();
      });
      const ones = kn.ones([4096]);
      for (let call = 0; call < 2; call++) step(ones);
      check(weight.value.slice(0).item(), i);
    }),
  'sizes of one operator': () =>
    measure(eagerCalls, (i) =>
      check(
        kn
          .ones([i + 1])
          .sum()
          .item(),
        i + 1,
      ),
    ),
  'attributes of one operator': () => {
    const x = kn.arange(eagerCalls);
    return measure(eagerCalls, (i) => check(x.slice(i).item(), i));
  },
  'patterns of sizes of one operator': () =>
    measure(eagerCalls, (i) => {
      const shape = pattern(i);
      check(kn.ones(shape).neg().dataSync().at(-1), -1);
    }),
};

if (!(await servedCase(cases))) {
  for (const name of ['shapes', 'static arguments'] as const) {
    test(`${calls} different ${name}: one function keeps so many traces, and gives back the others`, () => {
      const report = inChild<Report>(import.meta.url, name);
      const { before, after, traces, evicted } = report;
      assert.deepEqual([traces, evicted], [limits.traces, calls - limits.traces]);
      assert.ok(after.modules - before.modules <= limits.traces + 8, `${after.modules} modules`);
      // Kernels for different sizes differ; those that were optimized are kept for other functions.
      checkSteady(report, name === 'shapes' ? 2 ** 23 : 2 ** 20);
    });
  }

  for (const name of ['functions', 'training steps'] as const) {
    test(`${calls} ${name} that were captured and dropped leave neither code nor memory`, () => {
      const report = inChild<Report>(import.meta.url, name);
      const { before, after } = report;
      assert.ok(after.modules - before.modules <= 8, `${after.modules} modules`);
      assert.ok(after.device - before.device < 2 ** 18, `${after.device} bytes of the device`);
      checkSteady(report, 2 ** 20);
    });
  }

  for (const [name, programs] of [
    ['sizes of one operator', 8],
    ['attributes of one operator', limits.executables + 8],
    ['patterns of sizes of one operator', limits.executables + 8],
  ] as const) {
    test(`${eagerCalls} ${name}: so many programs are kept`, () => {
      const report = inChild<Report>(import.meta.url, name);
      const { before, after } = report;
      assert.ok(after.modules - before.modules <= programs, `${after.modules} modules`);
      checkSteady(report, 2 ** 23);
    });
  }
}

/** @param heap What the heap may grow by after two thirds of the calls. */
function checkSteady({ half, after }: Report, heap: number): void {
  assert.ok(after.heap - half.heap < heap, `${after.heap - half.heap} more bytes of heap`);
  assert.ok(after.buffers - half.buffers < 2 ** 18, `${after.buffers - half.buffers} in buffers`);
  assert.ok(after.device - half.device < 2 ** 18, `${after.device - half.device} of the device`);
}
