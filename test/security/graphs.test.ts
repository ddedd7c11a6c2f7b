import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import {
  assertHarmless,
  assertHarmlessC,
  endings,
  everything,
  type Known,
  words,
} from './attacks.js';
import { dealt, settings } from '../support/settings.js';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A graph with all that has a name: inputs, outputs, state, sizes, lines, regions, requirements. */
function sample(): { readonly json: Json; readonly known: Known } {
  kn.random.seed(4);
  const layer = new kn.nn.Dense(3, { activation: 'tanh' }).initialize();
  layer.call(kn.zeros([1, 2]));
  const f = kn.hybridize(
    (x: kn.NDArray, y: kn.NDArray) => {
      const pairs = layer.call(x).reshape([-1, 2]);
      const [rows, last] = kn.foreach((row, s) => [row.mul(2), s.add(row)], y, kn.zeros([2]));
      const branch = kn.cond(y.sum().greater(0), () => y.mul(2), () => y.neg()); // prettier-ignore
      return { pairs, rows, last, branch };
    },
    { dynamic: [['n', null], ['m', null]] }, // prettier-ignore
  );
  const feeds = [kn.random.normal([4, 2]), kn.random.normal([3, 2])];
  const graph = f.graphFor(feeds[0], feeds[1]);
  const named = Object.fromEntries(graph.inputNames.map((name, i) => [name, feeds[i]]));
  const outputs = Object.values(graph.run(named)).map((array) => [...(array.dataSync() as Float32Array)]); // prettier-ignore
  return { json: graph.toJSON() as Json, known: { feeds, outputs } };
}

const { json, known } = sample();

type Path = readonly (string | number)[];

/** Where strings are, those of elements apart. */
function stringsIn(value: Json, path: Path = []): readonly Path[] {
  if (typeof value === 'string') return [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, entry]) => stringsIn(entry, [...path, key]));
}

function changed(paths: readonly Path[], change: (text: string) => string): Json {
  const copy = structuredClone(json);
  for (const path of paths) {
    let at = copy as { [key: string]: Json };
    for (const key of path.slice(0, -1)) at = at[key] as { [key: string]: Json };
    at[path.at(-1)!] = change(at[path.at(-1)!] as string);
  }
  return copy;
}

function loaded(from: Json): kn.StaticGraph | null {
  try {
    return kn.StaticGraph.fromJSON(from);
  } catch (error) {
    assert.ok(error instanceof kn.KaonError && !(error instanceof kn.InternalError), String(error));
    return null;
  }
}

const paths = stringsIn(json);
/** Strings that may end so: names, lines, messages. */
const endingIn = (ending: string): readonly Path[] =>
  paths.filter((path) => loaded(changed([path], (text) => text + ending)) !== null);
const free = endingIn('x');
const nameOf = (path: Path): string => path.map((key) => (/^\d+$/.test(String(key)) ? '*' : key)).join('.'); // prettier-ignore

test('the sample has strings of every kind that a graph may have', () => {
  const kinds = new Set(free.map(nameOf));
  for (const kind of ['nodes.*.input', 'outputs.*.*', 'source', 'problem.*', 'op']) {
    assert.ok([...kinds].some((found) => found.includes(kind)), `${kind} is none of ${[...kinds].join('\n')}`); // prettier-ignore
  }
  assert.ok(free.length > 30 && free.length < paths.length);
});

test('each string of a graph with every attack appended: it computes the same, and nothing runs', async () => {
  for (const [k, ending] of [everything, everything.replaceAll(/[\n\r]/g, '')].entries()) {
    const strings = endingIn(ending);
    // By day half of the strings end in one, half in the other.
    for (const path of settings.isLong ? strings : dealt(strings, { index: k, count: 2 })) {
      await assertHarmless(loaded(changed([path], (text) => text + ending))!, known);
    }
  }
});

for (const [k, ending] of endings.entries()) {
  test(`all strings of a graph end in ${JSON.stringify(ending)}`, async () => {
    const graph = loaded(changed(endingIn(ending), (text) => text + ending));
    assert.ok(graph !== null);
    await assertHarmless(graph, known);
    // By day the other half is compiled with the strings of a model.
    if (settings.isLong || k % 2 === 0) assertHarmlessC(graph, known);
  });
}

/** Inputs, outputs and state. */
const names = free.filter((path) => /input$|outputs\.\d+\.0$/.test(path.join('.')));

test('names that mean something to a target are names like others', async () => {
  assert.ok(names.length >= 6);
  // As many at a time as there are names: by night each stands for an input, an output and state in turn.
  for (let start = 0; start < words.length; start += settings.isLong ? 1 : 3) {
    let at = start;
    const graph = loaded(changed(names, () => words[at++ % words.length]));
    if (graph === null) continue;
    await assertHarmless(graph, known);
    if (start % 12 === 0) assertHarmlessC(graph, known);
  }
});

/** A `cond` in a `cond`, so many levels deep; with `twice`, both branches are the level below. */
function nested(levels: number, twice: boolean): Json {
  const graph = kn
    .hybridize((x: kn.NDArray) =>
      kn.cond(
        x.sum().greater(0),
        () => x.mul(2),
        () => x.neg(),
      ),
    ) // prettier-ignore
    .graphFor(kn.ones([2]));
  const root = graph.toJSON() as { program: { programs: Json[] } };
  const [one, other, main] = root.program.programs as { nodes: { regions?: number[] }[] }[];
  const programs: Json[] = [one as Json, other as Json];
  for (let level = 0; level < levels; level++) {
    const below = level === 0 ? 0 : programs.length - 1;
    const copy = structuredClone(main) as { nodes: { input?: string; regions?: number[] }[] };
    copy.nodes.at(-1)!.regions = [below, twice ? below : 1];
    programs.push(copy as Json);
  }
  root.program.programs = programs;
  return root as unknown as Json;
}

test('a small file cannot ask for much: regions are nested and repeated only so far', () => {
  const graph = loaded(nested(6, true));
  assert.ok(graph !== null);
  assert.deepEqual(graph.run({ [graph.inputNames[0]]: kn.ones([2]) })[graph.outputNames[0]].tolist(), [2, 2]); // prettier-ignore
  for (const [levels, twice, problem] of [
    [1_000, false, /nested too deeply/],
    [20_000, false, /nested too deeply/],
    [40, true, /repeats its regions too often/],
  ] as const) {
    assert.throws(
      () => kn.StaticGraph.fromJSON(nested(levels, twice)),
      (error) => error instanceof kn.FormatError && problem.test(error.message),
    );
  }
});

test('keys that objects inherit are not found in a file, nor do they reach a prototype', () => {
  for (const key of ['__proto__', 'constructor']) {
    const text = JSON.stringify(json).replaceAll('"attributes":{', `"attributes":{"${key}":{"polluted":1},`); // prettier-ignore
    assert.notEqual(text, JSON.stringify(json));
    assert.equal(loaded(JSON.parse(text) as Json), null);
    assert.equal(({} as { polluted?: number }).polluted, undefined);
  }
  const graph = loaded(json)!;
  for (const name of ['__proto__', 'constructor', 'toString']) {
    assert.throws(() => graph.run(JSON.parse(`{"${name}": [1]}`) as Record<string, kn.NDArray>), kn.KaonError); // prettier-ignore
  }
});
