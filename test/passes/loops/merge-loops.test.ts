import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { Program, type Value } from '../../../src/ir/program.js';
import type { TensorType } from '../../../src/ir/types.js';
import { verify } from '../../../src/ir/verify.js';
import { cond } from '../../../src/ops/control/cond.js';
import { foreach } from '../../../src/ops/control/foreach.js';
import { whileLoop } from '../../../src/ops/control/while-loop.js';
import { booleanMask } from '../../../src/ops/dynamic/boolean-mask.js';
import { add, mul } from '../../../src/ops/elementwise/arithmetic.js';
import { less } from '../../../src/ops/elementwise/comparison.js';
import { exp } from '../../../src/ops/elementwise/exponential.js';
import { tanh } from '../../../src/ops/elementwise/hyperbolic.js';
import { sin } from '../../../src/ops/elementwise/trigonometric.js';
import { sum } from '../../../src/ops/reduction/sum.js';
import { eliminateDeadCode } from '../../../src/passes/rewrite/dce.js';
import { declarationOf } from '../../../src/ops/declare/facets.js';
import { backwardProgram, gradient } from '../../../src/passes/gradient/gradient.js';
import { jointProgram } from '../../../src/passes/gradient/joint.js';
import { mergeLoops } from '../../../src/passes/loops/merge-loops.js';
import { runPipeline } from '../../../src/passes/pipeline.js';
import { rematerialize } from '../../../src/passes/gradient/rematerialize.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { randomOperand } from '../../support/arrays.js';
import { programOf } from '../../support/programs.js';
import { expectSame } from '../control/check.js';
import { random } from '../control/random.js';
import { run } from '../control/unroll.js';

const f64 = (...shape: TensorType['shape']): TensorType => ({ dtype: 'float64', shape });
const next = random(13);
/** Not so few that the compiler would write the iterations out. */
const length = 40;

/** How often operators stand in a program and in everything below it. */
function count(program: Program, wanted: (name: string, kind: string) => boolean): number {
  return [...program.graph.nodes()].reduce((sum, id) => {
    const node = program.node(id);
    if (node.kind !== 'call') return sum;
    const own = wanted(node.op.name, declarationOf(node.op).lowering.kind) ? 1 : 0;
    return node.regions.reduce((total, region) => total + count(region, wanted), sum + own);
  }, 0);
}

const loops = (program: Program): number =>
  count(program, (_, kind) => kind === 'foreach' || kind === 'while');
const named = (program: Program, name: string): number => count(program, (each) => each === name);

const step = programOf({ x: f64(2), s: f64(2), w: f64(2) }, ({ x, s, w }) => {
  const inner = exp<Value>(mul(s, w));
  const made = tanh<Value>(add(mul(inner, x), s));
  return { row: mul(made, inner), s: made };
});

function looping(body: Program): Program {
  return programOf({ x: f64(length, 2), s: f64(2), w: f64(2) }, ({ x, s, w }) => {
    const [row, last] = foreach<Value>(body, {
      data: [x],
      states: [s],
      captures: [w],
      save: 'all',
    });
    return { row, last };
  });
}

const all = [true, true, true];
const operands = [[length, 2], [2], [2]].map((shape) => randomOperand(next, shape));

test('forward runs once: in one program, and in two', () => {
  const program = looping(step);
  const backward = backwardProgram(program, all);
  assert.equal(loops(backward), 2);
  assert.equal(named(backward, 'exp'), 1);
  assert.equal(named(backward, 'tanh'), 1);
  const { forward, backward: apart } = jointProgram(program, all);
  assert.equal(loops(forward), 1);
  assert.equal(loops(apart), 1);
  assert.equal(named(apart, 'exp') + named(apart, 'tanh'), 0);
});

test('a gradient of a gradient goes forth once and back once for each of the two loops', () => {
  const backward = backwardProgram(looping(step), all);
  const second = backwardProgram(backward, [true, true, true, true, true]);
  verify(second);
  assert.equal(loops(second), 4);
  assert.equal(named(second, 'exp'), 1);
  assert.equal(named(second, 'tanh'), 1);
});

/** A program with the gradients of several sums of another's outputs, each derived by itself. */
function gradientsApart(program: Program, heads: readonly number[]): Program {
  return Program.from(program, (into) => {
    const inputs = program.inputs.map(({ type }, k) => into.variable(`x${k}`, type));
    const results = foreach<Value>(step, {
      data: [inputs[0]],
      states: [inputs[1]],
      captures: [inputs[2]],
      save: 'all',
    });
    const outputs = heads.flatMap((head) => {
      const grads = gradient<Value>({
        program: into,
        outputs: [{ value: results[head], grad: sin<Value>(results[head]) }],
        wrt: inputs,
        valueOf: (value) => value,
        add: (a, b) => add(a, b),
      });
      return grads.filter((grad) => grad !== null);
    });
    into.setOutputs([...results, ...outputs].map((value, k) => ({ name: `y${k}`, value })));
  });
}

test('two gradients of one loop share its one run', () => {
  const apart = gradientsApart(looping(step), [0, 1]);
  assert.equal(loops(apart), 5);
  const merged = mergeLoops(apart);
  verify(merged);
  assert.equal(loops(merged), 3);
  assert.equal(named(merged, 'exp'), 1);
  expectSame(run(merged, operands), run(apart, operands), 'merged');
  assert.equal(mergeLoops(merged), merged);
});

test('a loop and the run of it that a gradient needed go back as one', () => {
  const program = new Program();
  const inputs = [f64(length, 2), f64(2), f64(2)].map((type, k) => program.variable(`x${k}`, type));
  const [x, s, w] = inputs;
  const [row, last] = foreach<Value>(step, { data: [x], states: [s], captures: [w] });
  const derive = (value: Value): Value =>
    gradient<Value>({
      program,
      outputs: [{ value, grad: value }],
      wrt: inputs,
      valueOf: (value) => value,
      add: (a, b) => add(a, b),
    })
      .map((grad) => sum<Value>(mul(grad!, grad!)))
      .reduce((a, b) => add<Value>(a, b));
  const first = derive(sum<Value>(mul(row, last)));
  assert.equal(loops(outputting(program, first)), 3);
  const second = outputting(program, derive(first));
  const merged = mergeLoops(second);
  verify(merged);
  assert.equal(loops(merged), 4);
  expectSame(run(merged, operands), run(second, operands), 'merged');
});

function outputting(program: Program, value: Value): Program {
  program.setOutputs([{ name: 'y', value }]);
  return eliminateDeadCode(program);
}

test('the compiler merges what it is given', () => {
  const compiled = runPipeline(gradientsApart(looping(step), [0, 1]));
  assert.equal(loops(compiled), 3);
  assert.equal(named(compiled, 'exp'), 1);
});

test('loops that differ are left alone', () => {
  const other = programOf({ x: f64(2), s: f64(2), w: f64(2) }, ({ x, s, w }) => ({
    row: mul(s, w),
    s: add(mul(s, x), w),
  }));
  const program = programOf({ x: f64(length, 2), s: f64(2), w: f64(2) }, ({ x, s, w }) => {
    const own = { data: [x], states: [s], captures: [w] };
    const [first] = foreach<Value>(step, own);
    const [second] = foreach<Value>(other, own);
    const [third] = foreach<Value>(step, { ...own, reverse: true });
    const [fourth] = foreach<Value>(step, { ...own, states: [w] });
    return { first, second, third, fourth };
  });
  assert.equal(mergeLoops(program), program);
});

test('rows that are the same value are stacked once', () => {
  const other = programOf({ x: f64(2), s: f64(2), w: f64(2) }, ({ x, s, w }) => {
    const inner = exp<Value>(mul(s, w));
    const made = tanh<Value>(add(mul(inner, x), s));
    return { inner, again: made, row: mul(made, inner), s: made };
  });
  const program = programOf({ x: f64(length, 2), s: f64(2), w: f64(2) }, ({ x, s, w }) => {
    const own = { data: [x], states: [s], captures: [w] };
    const [a, last] = foreach<Value>(step, own);
    const [inner, again, row, end] = foreach<Value>(other, own);
    return { a, last, inner, again, row, end };
  });
  const merged = mergeLoops(program);
  verify(merged);
  assert.equal(loops(merged), 1);
  const [loop] = [...merged.graph.nodes()].flatMap((id) => {
    const node = merged.node(id);
    return node.kind === 'call' ? [node] : [];
  });
  // row, inner, again, and the state
  assert.equal(loop.types.length, 4);
  expectSame(run(merged, operands), run(program, operands), 'merged');
});

test('sizes that the data decides stay apart, though both bodies call them alike', () => {
  const rows = (chooses: (x: Value) => Value, of: (x: Value) => Value): Program =>
    programOf({ x: f64(4), s: f64() }, ({ x, s }) => {
      const some = booleanMask<Value>(x, chooses(x));
      return { row: of(some), again: mul(sum<Value>(some), s), s: add(s, sum<Value>(x)) };
    });
  const bodies = [
    rows((x) => less(x, 0.5), (x) => sum<Value>(exp<Value>(x))),
    rows((x) => less(x, -0.5), (x) => sum<Value>(sin<Value>(x))),
    rows((x) => less(x, 0.5), (x) => sum<Value>(tanh<Value>(x))),
  ]; // prettier-ignore
  const program = programOf({ x: f64(length, 4), s: f64() }, ({ x, s }) => {
    const results = bodies.flatMap((body) => foreach<Value>(body, { data: [x], states: [s], captures: [] })); // prettier-ignore
    return Object.fromEntries(results.map((value, k) => [`y${k}`, value]));
  });
  const merged = mergeLoops(program);
  verify(merged);
  assert.equal(loops(merged), 1);
  // The first and the last body select alike.
  assert.equal(named(merged, 'booleanMask'), 2);
  const inputs = [randomOperand(next, [length, 4]), randomOperand(next, [])];
  const expected = run(program, inputs);
  expectSame(run(merged, inputs), expected, 'merged');
  for (const each of [program, merged]) expectSame(compile(each).run(inputs), expected, 'compiled');
});

test('loops in loops and branches in loops run once, too', () => {
  const nested = programOf({ x: f64(2), s: f64(2), w: f64(2) }, ({ x, s, w }) => {
    const branch = (f: (x: Value) => Value): Program =>
      programOf({ s: f64(2), w: f64(2) }, ({ s, w }) => ({ s: f(mul(s, w)) }));
    const condition = programOf({ t: f64(2), w: f64(2) }, ({ t }) => ({
      more: less<Value>(sum(t), 3),
    }));
    const grow = programOf({ t: f64(2), w: f64(2) }, ({ t, w }) => {
      const made = add(exp<Value>(mul(t, w)), t);
      return { row: made, t: made };
    });
    const [rows, t] = whileLoop<Value>(condition, grow, {
      states: [s],
      captures: [w],
      limit: 4,
      padded: true,
      save: 'all',
    });
    const [made] = cond<Value>(
      less<Value>(sum(x), 0),
      branch((x) => sin<Value>(x)),
      branch((x) => tanh<Value>(x)),
      [t, w],
    );
    return { row: sum<Value>(rows, 0), s: tanh<Value>(mul(made, x)) };
  });
  const program = looping(nested);
  const backward = backwardProgram(program, all);
  verify(backward);
  assert.equal(loops(backward), 4);
  const { forward, backward: apart } = jointProgram(program, all);
  assert.equal(loops(forward), 2);
  assert.equal(loops(apart), 2);
  assert.equal(named(apart, 'exp'), 0);
});

test('a step that keeps less for its backward pass still goes forth once', () => {
  const program = new Program();
  const [x, s, w] = [f64(length, 2), f64(2), f64(2)].map((type, k) =>
    program.variable(`x${k}`, type),
  );
  // What the loop reads is itself computed again.
  const data = sin<Value>(mul(x, 2));
  const [row, last] = foreach<Value>(step, { data: [data], states: [s], captures: [w] });
  const total = sum<Value>(mul(row, last));
  const first = program.graph.nodeCount;
  const grads = gradient<Value>({
    program,
    outputs: [{ value: total, grad: sin<Value>(total) }],
    wrt: [x, s, w],
    valueOf: (value) => value,
    add: (a, b) => add(a, b),
  });
  const outputs = [total, ...grads.filter((grad) => grad !== null)];
  program.setOutputs(outputs.map((value, k) => ({ name: `y${k}`, value })));
  for (const policy of ['auto', 'none', 0] as const) {
    const kept = rematerialize(program, (id) => id >= first, policy);
    verify(kept);
    const compiled = runPipeline(kept);
    // Nothing dear is computed again unless nothing at all is to be kept.
    if (policy === 'auto') assert.equal(loops(compiled), 2);
    expectSame(run(kept, operands), run(program, operands), String(policy));
  }
});

test('loops that are passed sizes merge in third derivatives, whose sizes have other names by then', () => {
  const dtype = 'float64';
  const keep = kn.array([true, false, true, true]);
  const limit = kn.array(2, { dtype: 'int32' });
  const loss = (s: kn.NDArray, w: kn.NDArray): kn.NDArray => {
    const [rows, [, , last]] = kn.whileLoop(
      (i: kn.NDArray) => i.less(limit),
      (i: kn.NDArray, a: kn.NDArray, b: kn.NDArray) => {
        const next = [i.add(1), a.mul(a.sigmoid()).add(a), b.mul(a.sigmoid()).add(w)];
        return [kn.booleanMask(b, keep), next] as [kn.NDArray, [kn.NDArray, kn.NDArray, kn.NDArray]]; // prettier-ignore
      },
      [kn.array(0, { dtype: 'int32' }), s, w],
    );
    return rows.sin().sum().add(last.square().sum());
  };
  const slope =
    (f: typeof loss): typeof loss =>
    (s, w) => {
      const [bySize, byRow] = kn.grad(f, [0, 1])(s, w);
      return bySize.add(byRow.sum());
    };
  const at = (move: number): [kn.NDArray, kn.NDArray] => [
    kn.array(0.3 + move, { dtype }),
    kn.array([0.1, 0.2, -0.3, 0.4].map((each) => each + move), { dtype }), // prettier-ignore
  ];
  const second = (move: number): number => Number(slope(slope(loss))(...at(move)).item());
  const h = 1e-4;
  const expected = (second(h) - second(-h)) / (2 * h);
  const third = kn.hybridize(slope(slope(slope(loss))));
  assert.ok(Math.abs(Number(third(...at(0)).item()) - expected) < 1e-5);
});

test('loops whose rows have a size that an input brings keep its name in second derivatives', () => {
  // Three loops deep, the gradients of rows come in with the size that the loop in which they are merged decides.
  const x = kn.array([0.1, -0.2, 0.3, 0.4, -0.5, 0.6], { dtype: 'float64' }).reshape([2, 3]);
  const mask = kn.array([true, false, true]);
  const state = kn.array(0.3, { dtype: 'float64' });
  const factor = 0.5;
  /** The loss, by loops of the library or by hand. */
  const loss = (rows: kn.NDArray, s: kn.NDArray, isByHand: boolean): kn.NDArray => {
    const over = (step: (row: kn.NDArray, s: kn.NDArray) => readonly [kn.NDArray, kn.NDArray], s: kn.NDArray): readonly [kn.NDArray, kn.NDArray] => {
      if (!isByHand) return kn.foreach(step, rows, s);
      const made: kn.NDArray[] = [];
      for (let k = 0; k < 2; k++) {
        const [row, last] = step(rows.slice(k), s);
        made.push(row);
        s = last;
      }
      return [kn.stack(made), s];
    }; // prettier-ignore
    const [all] = over((_, outer) => {
      const [kept] = over((row, middle) => {
        const [sums, last] = over((r, inner) => [r.add(inner).tanh().sum(), inner], middle);
        return [kn.booleanMask(row, mask).add(last.add(sums.sum())).square(), middle.mul(factor)];
      }, outer);
      return [kept, outer];
    }, s);
    return all.square().sum();
  };
  const second = (isByHand: boolean) => (rows: kn.NDArray, s: kn.NDArray): readonly kn.NDArray[] => {
    const slopes = kn.grad((y: kn.NDArray, t: kn.NDArray) => loss(y, t, isByHand), [0, 1]);
    return kn.grad((y: kn.NDArray, t: kn.NDArray) => slopes(y, t).map((g) => g.square().sum()).reduce((a, b) => a.add(b)), [0, 1])(rows, s);
  }; // prettier-ignore
  const found = kn.hybridize(second(false))(x, state);
  second(true)(x, state).forEach((expected, k) => {
    const [a, b] = [found[k], expected].map((each) => [...each.dataSync()] as number[]);
    const scale = Math.max(...b.map(Math.abs));
    b.forEach((value, i) => assert.ok(Math.abs(a[i] - value) <= 1e-12 * scale, `${k} ${i}`));
  });
});
