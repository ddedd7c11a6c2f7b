import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { settings } from '../support/settings.js';

/** Files of graphs may be damaged in any place: the answer is a graph, or an error that says what is wrong. */

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

function graphs(): Readonly<Record<string, kn.StaticGraph>> {
  kn.random.seed(1);
  const x = kn.ones([2, 3]);
  const net = new kn.nn.Sequential(new kn.nn.Dense(4, { activation: 'tanh' }), new kn.nn.Dropout(0.5), new kn.nn.Dense(2)).initialize(); // prettier-ignore
  net.call(x);
  const loop = kn.hybridize(
    (rows: kn.NDArray) => kn.foreach((row, sum: kn.NDArray) => [row.mul(2), sum.add(row)], rows, kn.zeros([3])), // prettier-ignore
    { dynamic: [['n', null]] },
  );
  const choice = kn.hybridize(
    (rows: kn.NDArray) =>
    kn.cond(rows.sum().greater(0), () => rows.exp(), () => rows.neg()), // prettier-ignore
  );
  const sizes = kn.hybridize((rows: kn.NDArray) => kn.booleanMask(rows, rows.greater(0)).sum(0));
  const drawing = kn.hybridize((rows: kn.NDArray) => rows.add(kn.random.normal([3])));
  return {
    net: kn.autograd.trainMode(() => net.graphFor(x)),
    loop: loop.graphFor(x),
    choice: choice.graphFor(x),
    sizes: sizes.graphFor(x),
    drawing: drawing.graphFor(x),
  };
}

const replacements: readonly Json[] = [null, true, -1, 0, 7, 0.5, 1e9, 2 ** 53, '', 'x', '__proto__', 'n', [], [[]], [0, 0, 0], {}, { constructor: 1 }]; // prettier-ignore

/** Every place in a value. */
function* places(
  value: Json,
  path: readonly (string | number)[] = [],
): Generator<readonly (string | number)[]> {
  // prettier-ignore
  if (path.length > 0) yield path;
  if (typeof value !== 'object' || value === null) return;
  for (const [key, entry] of Object.entries(value)) yield* places(entry, [...path, Array.isArray(value) ? Number(key) : key]); // prettier-ignore
}

/** A copy in which one place holds something else; undefined takes it out. */
function damaged(value: Json, path: readonly (string | number)[], other: Json | undefined): Json {
  const copy = structuredClone(value);
  let holder = copy as Record<string | number, Json>;
  for (const key of path.slice(0, -1)) holder = holder[key] as Record<string | number, Json>;
  const last = path.at(-1)!;
  if (other !== undefined) holder[last] = other;
  else if (Array.isArray(holder)) holder.splice(Number(last), 1);
  else delete holder[last];
  return copy;
}

function check(json: unknown, place: string): void {
  let graph: kn.StaticGraph;
  try {
    graph = kn.StaticGraph.fromJSON(json);
  } catch (error) {
    const isTyped = error instanceof kn.FormatError || error instanceof kn.GraphError;
    assert.ok(isTyped, `${place}: ${error instanceof Error ? error.stack : String(error)}`);
    assert.ok((error as kn.KaonError).op !== undefined, place);
    return;
  }
  try {
    graph.toString();
    graph.run(Object.fromEntries(graph.inputNames.map((name) => [name, kn.ones([2, 3])])));
  } catch (error) {
    const isTyped = error instanceof kn.KaonError && !(error instanceof kn.InternalError);
    assert.ok(isTyped, `running ${place}: ${error instanceof Error ? error.stack : String(error)}`);
  }
}

/** One in so many damages is tried: all of them take minutes. */
const stride = settings.isLong ? 1 : 11;

for (const [name, graph] of Object.entries(graphs())) {
  const json = graph.toJSON() as Json;

  test(`the damaged file of a graph is a graph or refused: ${name}`, () => {
    let count = 0;
    for (const path of places(json)) {
      for (const other of [undefined, ...replacements]) {
        if (count++ % stride === 0) check(damaged(json, path, other), `${path.join('.')} = ${JSON.stringify(other)}`); // prettier-ignore
      }
    }
    assert.ok(count > 1000, `${count} damages`);
  });

  test(`a file of a graph that ends too early is refused: ${name}`, () => {
    const text = JSON.stringify(json);
    for (let end = 0; end < text.length; end += Math.ceil(text.length / 200)) {
      assert.throws(() => kn.StaticGraph.fromJSON(text.slice(0, end)), kn.FormatError);
    }
  });
}
