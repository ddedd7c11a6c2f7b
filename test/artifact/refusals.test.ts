import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toC, toModule } from '../../src/artifact/index.js';
import { runTrial } from '../../src/artifact/c/trial.js';
import * as kn from '../../src/index.js';
import { compilers } from '../codegen/c/compiler.js';
import { stored } from './elements.js';

/** A function, arrays that it works for, arrays that it refuses, and what is said of these everywhere. */
interface Refusal {
  readonly fn: (...args: kn.NDArray[]) => unknown;
  readonly good: readonly kn.NDArray[];
  readonly bad: readonly kn.NDArray[];
  readonly said: RegExp;
  readonly dynamic?: readonly (readonly (string | null)[] | null)[];
  /** Elements that no kernel accepts: a module says that there is one, here it is said which. */
  readonly isElement?: true;
  /** In C: sizes that the caller gives. */
  readonly isSize?: true;
}

const x = kn.arange(4);
const masks = (...lists: readonly string[]): kn.NDArray =>
  kn.array(lists.map((list) => [...list].map((bit) => bit === '1')));
const mask = (text: string): kn.NDArray => masks(text).reshape([text.length]);
const ints = (...values: readonly number[]): kn.NDArray => kn.array(values, { dtype: 'int32' });

const select = (mask: kn.NDArray): kn.NDArray =>
  kn.foreach((bits: kn.NDArray) => [kn.booleanMask(x, bits), []], mask, [])[0];

const cases: Readonly<Record<string, Refusal>> = {
  'sizes that the data decides and that do not go together': {
    fn: (a, b) => kn.booleanMask(x, a).add(kn.booleanMask(x, b)),
    good: [mask('1100'), mask('0110')],
    bad: [mask('1110'), mask('0110')],
    said: /^add: the shapes do not broadcast\n.*\n {2}actual: {3}\[3\] and \[2\]\n/,
  },
  'a row that is unlike those before': {
    fn: select,
    good: [masks('1100', '0110', '1001')],
    bad: [masks('1100', '0110', '1011')],
    said: /^foreach: iteration 2: output 0 changes its shape\n.*\[2\], as in the iterations before\n {2}actual: {3}\[3\]/,
  },
  'a state that comes back longer': {
    fn: (bits) =>
      kn.foreach((row: kn.NDArray, s: kn.NDArray) => [[], kn.booleanMask(x, row).add(s.sum())], bits, kn.zeros([2]))[1],
    good: [masks('1100', '0110')],
    bad: [masks('1100', '0111')],
    said: /^foreach: iteration 1: the state changes its shape\n {2}expected: float32\[2\]\n {2}actual: {3}float32\[3\]/,
  },
  'rows whose size it takes an iteration to know, without one': {
    fn: select,
    good: [masks('1100')],
    bad: [masks('1100').slice([0, 0])],
    said: /^foreach: without an iteration: output 0 has a size that the data of each iteration decides\n/,
    dynamic: [['n', null]],
  },
  'what an iteration of a while loop refuses': {
    fn: (bits) =>
      kn.whileLoop(
        (i: kn.NDArray) => i.less(3),
        (i: kn.NDArray, s: kn.NDArray) => {
          const row = kn.booleanMask(x, bits.take(i, { axis: 0 }));
          return [[], [i.add(1), s.add(row.add(kn.ones([2])).sum())]];
        },
        [kn.array(0, { dtype: 'int32' }), kn.zeros([])],
      )[1][1],
    good: [masks('1100', '0110', '1001')],
    bad: [masks('1100', '1110', '1001')],
    said: /^whileLoop: iteration 1: add: the shapes do not broadcast\n/,
  },
  'a loop in a branch': {
    fn: (bits, flag) => kn.cond(flag, () => select(bits).sum(), () => select(bits.slice([0, 1])).mean()),
    good: [masks('1100', '0110'), kn.array(true)],
    bad: [masks('1100', '0100'), kn.array(true)],
    said: /^cond: first branch: foreach: iteration 1: output 0 changes its shape\n/,
  },
  'a count of elements that is negative': {
    fn: (counts) => kn.repeat(x, counts).sum(),
    good: [ints(1, 2, 0, 3)],
    bad: [ints(1, 2, -1, 3)],
    said: /^\w+: /,
    isElement: true,
  },
  'a position outside of an axis that the data has made': {
    fn: (bits, at) => kn.booleanMask(x, bits).take(at),
    good: [mask('1110'), ints(2)],
    bad: [mask('1100'), ints(2)],
    said: /^take: in captured code: /,
    isElement: true,
  },
  'a position in a loop': {
    fn: (at) => kn.foreach((i: kn.NDArray) => [x.take(i.add(1)), []], at, [])[0],
    good: [ints(0, 2)],
    bad: [ints(0, 3)],
    said: /^take: in captured code, iteration 1 of foreach: /,
    isElement: true,
  },
  'a check in a loop': {
    fn: (at) =>
      kn.foreach((i: kn.NDArray) => {
        kn.check(i.less(3), 'three is too many');
        return [i.mul(2), []];
      }, at, [])[0],
    good: [ints(0, 2)],
    bad: [ints(0, 3)],
    said: /^check: in captured code, iteration 1 of foreach: three is too many\n/,
    isElement: true,
  },
  'sizes of inputs': {
    fn: (a) => a.slice([0, -2]).reshape([-1, 2]),
    good: [kn.ones([6])],
    bad: [kn.ones([5])],
    said: /^reshape: /,
    dynamic: [['n']],
    isSize: true,
  },
}; // prettier-ignore

/** Without the folder of the file that a line stands in. */
const told = (error: unknown): string =>
  (error as Error).message.replace(/( {2}at: +).*\/([^/]+)$/m, '$1$2');

const errorOf = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    return error;
  }
  return assert.fail('it is not refused');
};

for (const [name, each] of Object.entries(cases)) {
  const { fn, good, bad, said, dynamic, isElement = false, isSize = false } = each;
  const graph = kn.hybridize(fn, dynamic === undefined ? {} : { dynamic }).graphFor(...good);
  const feed = (arrays: readonly kn.NDArray[]): Record<string, kn.NDArray> =>
    Object.fromEntries(graph.inputNames.map((input, k) => [input, arrays[k]]));

  test(`${name}: modules say what the runtime says`, async () => {
    const url = `data:text/javascript,${encodeURIComponent(toModule(graph))}`;
    const { run } = (await import(url)) as { run(given: object): object };
    const given = (arrays: readonly kn.NDArray[]): object =>
      Object.fromEntries(graph.inputNames.map((input, k) => [input, stored(arrays[k])]));
    run(given(good));
    const [here, there] = [() => graph.run(feed(bad)), () => run(given(bad))].map(errorOf);
    assert.ok(here instanceof kn.KaonError && there instanceof RangeError);
    assert.match(told(here), said);
    assert.match(told(here), /refusals\.test\.ts:\d+:\d+$/);
    const facts = (error: unknown): string =>
      isElement ? told(error).replace(/^(\w+): [^]*\n( {2}at)/, '$1$2') : told(error);
    assert.equal(facts(there), facts(here));
    // What was refused leaves nothing behind.
    run(given(good));
  });

  test(`${name}: C refuses it with a code`, (context) => {
    if (compilers.length === 0) return context.skip('there is no C compiler here');
    if (isSize) return context.skip('the caller of C gives sizes apart');
    const files = ((): ReturnType<typeof toC> | null => {
      try {
        return toC(graph, { name: 'model' });
      } catch (error) {
        // Nothing bounds how long it is.
        assert.ok(error instanceof kn.UnsupportedError);
        return null;
      }
    })();
    if (files === null) return;
    assert.match(files.source, /refusals\.test\.ts:\d+:\d+ \*\//);
    const fields = (what: string): readonly string[] => {
      const [, body = ''] = new RegExp(`typedef struct \\{([^}]*)\\} model_${what};`).exec(files.header) ?? []; // prettier-ignore
      return [...body.matchAll(/(\w+); \/\*/g)].map(([, id]) => id);
    };
    const run = (arrays: readonly kn.NDArray[]): unknown =>
      runTrial('toC', {
        files,
        model: 'model',
        sizes: fields('sizes').map(() => arrays[0].shape[0] as number),
        inputs: graph.inputNames.map((_, k) => arrays[k].storage.host.slice()),
        outputs: fields('outputs').map((id) => ({ id, bytes: 4096 })),
        found: fields('found'),
      });
    run(good);
    // The program ends with 3 where a run is refused.
    assert.equal((errorOf(() => run(bad)) as { status?: number }).status, 3);
  });
}
