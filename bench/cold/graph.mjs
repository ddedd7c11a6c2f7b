// node bench/cold/graph.mjs COUNT
// How long a program of so many nodes takes: build, sort, rewrite, differentiate, print, read. Prints
// milliseconds by stage.
import { clock } from '../harness/clock.mjs';
import { load as loadFrom } from '../dist.mjs';

async function graphTimings(count) {
  const load = (path) => loadFrom(`src/${path}`);
  const [program, arithmetic, movement, symbols] = await Promise.all(
    [
      'ir/program.js',
      'ops/elementwise/arithmetic.js',
      'ops/movement/fill.js',
      'base/dim/index.js',
    ].map(load),
  );
  const [traverse, cse, dce, gradients, text, parse, verify, json] = await Promise.all(
    [
      'graph/traverse.js', 'passes/simplify/cse.js', 'passes/rewrite/dce.js', 'passes/gradient/gradient.js', 'ir/formats/text.js',
      'ir/formats/parse.js', 'ir/verify.js', 'ir/formats/json.js',
    ].map(load), // prettier-ignore
  );
  const { add, mul, neg } = arithmetic;
  const known = new Map(
    [add, mul, neg, movement.fill].map((f) => [f.declaration.name, f.declaration]),
  );
  const timings = {};
  const time = (stage, work) => {
    const start = clock();
    const result = work();
    timings[stage] = clock() - start;
    return result;
  };

  const built = time('build', () =>
    build(program.Program, symbols.symbol('n'), [add, mul, neg], count),
  );
  time('topological sort', () => traverse.toposort(built.graph));
  time('postorder', () => traverse.postorder(built.graph, built.graph.nodes()));
  time('verify', () => verify.verify(built));
  const merged = time('cse', () => cse.eliminateCommonSubexpressions(built));
  time('dce', () => dce.eliminateDeadCode(merged));
  time('gradient', () => gradients.backwardProgram(merged, [true, false]));
  const printed = time('print', () => text.printProgram(built));
  time('parse', () => parse.parseProgram(printed, (name) => known.get(name)));
  time('JSON', () => json.programFromJSON(json.programToJSON(built), (name) => known.get(name)));
  return timings;
}

/** Random calls on recent values, an eighth of them written twice, so that CSE has something to find. */
function build(Program, n, [add, mul, neg], count) {
  const program = new Program();
  const type = { dtype: 'float32', shape: [n, 4] };
  const values = [program.variable('x', type), program.variable('y', type)];
  let seed = 1;
  const pick = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return values[Math.max(0, values.length - 1 - (seed >>> 26))];
  };
  while (program.graph.nodeCount < count) {
    const [a, b] = [pick(), pick()];
    const op = [add, mul, add, neg][(seed >>> 8) & 3];
    const operands = op === neg ? [a] : [a, b];
    for (let copies = ((seed >>> 12) & 7) === 0 ? 2 : 1; copies > 0; copies--) {
      values.push(program.append(op.declaration, operands)[0]);
    }
  }
  // Most of it reaches the output; the rest is dead code.
  program.setOutputs([{ name: 'out', value: values.at(-1) }]);
  return program;
}

console.log(JSON.stringify(await graphTimings(Number(process.argv[2]))));
