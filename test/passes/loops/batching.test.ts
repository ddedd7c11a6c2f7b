import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundsOf, type Dim, symbol } from '../../../src/base/dim/index.js';
import { isFloat } from '../../../src/base/dtype.js';
import { type CallNode, Program, type Value } from '../../../src/ir/program.js';
import { verify } from '../../../src/ir/verify.js';
import type { Declaration } from '../../../src/ops/declare/declare.js';
import { declarationOf } from '../../../src/ops/declare/facets.js';
import { foreach } from '../../../src/ops/index.js';
import { registry } from '../../../src/ops/registry.js';
import { hoistRowWork } from '../../../src/passes/loops/ahead.js';
import { hasTotal, isBatchable, isLinear } from '../../../src/passes/loops/batching.js';
import { BatchedRows } from '../../../src/passes/loops/rows.js';
import { numbersOf, randomOperand } from '../../support/arrays.js';
import { bindSizes, sampleArrays, sampleCases, sampleProgram } from '../../support/samples.js';
import { agree, counts, generator, inputsOf, run } from './support.js';

/** Every sample whose only call there is a rule for. */
const cases = sampleCases(registry.values()).filter((sampleCase) => {
  const { sample, declaration } = sampleCase;
  if (sampleArrays(sample).length === 0 || declaration.lowering.kind === 'foreach') return false;
  const node = onlyCall(sampleProgram(sampleCase));
  return node !== null && isBatchable(node, [], 0);
});

function onlyCall(program: Program): CallNode | null {
  const calls = [...program.graph.nodes()].flatMap((id) => {
    const node = program.node(id);
    return node.kind === 'call' ? [node] : [];
  });
  return calls.length === 1 ? calls[0] : null;
}

/** Every choice of at least one of so many operands. */
function subsets(count: number): boolean[][] {
  return Array.from({ length: 2 ** count - 1 }, (_, bits) =>
    Array.from({ length: count }, (_each, k) => ((bits + 1) >> k) % 2 === 1),
  );
}

/**
 * True when the only call of a body leaves its loop: there is a rule for these rows, and the call refuses nothing that
 * a loop without iterations would not refuse.
 */
function leaves(body: Program, batched: readonly boolean[], length: Dim): boolean {
  const [id] = [...body.graph.nodes()].filter((each) => body.node(each).kind === 'call');
  const call = onlyCall(body)!;
  const differs = body.operands(id).map((value) => batched[body.inputs.indexOf(value)] ?? false);
  const { check } = call.op as Declaration;
  const refuses = check !== undefined && !differs[check.operand];
  return isBatchable(call, differs, length) && (!refuses || boundsOf(length).min > 0);
}

/** Operators of a program that are written in others: after the loop passes nothing expands them. */
function composedIn(program: Program): readonly string[] {
  return [...program.graph.nodes()].flatMap((id) => {
    const node = program.node(id);
    return node.kind === 'call' && declarationOf(node.op).lowering.kind === 'decompose' ? [node.op.name] : [];
  }); // prettier-ignore
}

/** A loop that makes the call of a body for every row. */
function loopOver(body: Program, batched: readonly boolean[], length: number | null): Program {
  const program = new Program();
  const order = [true, false].flatMap((wanted) =>
    body.inputs.filter((_, k) => batched[k] === wanted),
  );
  const inner = new Program();
  const moved = new Map<Value, Value>();
  order.forEach((input, k) => moved.set(input, inner.variable(`x${k}`, input.type)));
  for (const id of body.graph.nodes()) {
    const node = body.node(id);
    if (node.kind === 'constant') moved.set(body.results(id)[0], inner.constant(node.data));
    if (node.kind !== 'call') continue;
    const operands = body.operands(id).map((value) => moved.get(value)!);
    const made = inner.appendTyped(node.op, operands, node.attributes, node.types, node);
    body.results(id).forEach((value, port) => moved.set(value, made[port]));
  }
  inner.setOutputs(body.outputs.map(({ name, value }) => ({ name, value: moved.get(value)! })));
  const lead = length ?? symbol('rows');
  const operands = order.map((input, k) => {
    const { dtype, shape } = input.type;
    return program.variable(`x${k}`, batched[body.inputs.indexOf(input)] ? { dtype, shape: [lead, ...shape] } : { dtype, shape }); // prettier-ignore
  });
  const count = batched.filter(Boolean).length;
  const made = foreach<Value>(inner, {
    data: operands.slice(0, count),
    states: [],
    captures: operands.slice(count),
  });
  program.setOutputs(made.map((value, k) => ({ name: `y${k}`, value })));
  return program;
}

for (const sampleCase of cases) {
  const { sample, label, declaration } = sampleCase;

  test(`${label}: one call for all rows is the call for each of them`, () => {
    const arrays = sampleArrays(sample);
    for (const [size, length] of [[1, 3], [3, 0], [3, 1], [3, 3]]) {
      const sizes = bindSizes(sample, () => size);
      const body = sampleProgram(sampleCase, { sizes });
      for (const batched of subsets(arrays.length)) {
        const program = loopOver(body, batched, length);
        const after = hoistRowWork(program);
        verify(after);
        assert.deepEqual(composedIn(after).filter((name) => name !== declaration.name), [], 'a rule makes operators that have loops of their own');
        assert.equal(counts(after, 'foreach').outside === 0, leaves(body, batched, length));
        agree(program, after, inputsOf(program, {}, generator(length + size)), 1e-6);
      }
    } // prettier-ignore
    const rows = symbol('rows');
    for (const batched of subsets(arrays.length)) {
      const body = sampleProgram(sampleCase);
      const symbolic = loopOver(body, batched, null);
      const after = hoistRowWork(symbolic);
      verify(after);
      assert.equal(counts(after, 'foreach').outside === 0, leaves(body, batched, rows));
    }
  });

  const call = onlyCall(sampleProgram(sampleCase))!;
  const isSummable = isLinear(call) || hasTotal(call);
  if (!isSummable || !call.types.every(({ dtype }) => isFloat(dtype))) continue;

  test(`${label}: the sum over all rows`, () => {
    const arrays = sampleArrays(sample);
    const sizes = bindSizes(sample, () => 2);
    const body = sampleProgram(sampleCase, { sizes, float: 'float64' });
    for (const batched of subsets(arrays.length)) {
      const random = generator(7);
      const operands = body.inputs.map(({ type }, k) => {
        const shape = type.shape.map(Number);
        return randomOperand(random, batched[k] ? [3, ...shape] : shape, type.dtype);
      });
      const program = new Program();
      const inputs = operands.map(({ storage, shape }, k) =>
        program.variable(`x${k}`, { dtype: storage.dtype, shape }),
      );
      const given = new Map(
        inputs.map((value, k) => [body.inputs[k], { value, isBatched: batched[k] }]),
      );
      const rows = new BatchedRows(body, program, new Map(), 3, given);
      const { value } = body.outputs[0];
      program.setOutputs([
        { name: 'total', value: rows.total(value) },
        { name: 'rows', value: rows.stacked(value) },
      ]);
      verify(program);
      const [total, stacked] = run(program, operands);
      const size = numbersOf(total).length;
      const all = numbersOf(stacked);
      numbersOf(total).forEach((element, k) => {
        const expected = all[k] + all[size + k] + all[2 * size + k];
        assert.ok(
          Math.abs(element - expected) < 1e-12,
          `${declaration.name}: ${element}, not ${expected}`,
        );
      });
    }
  });
}
