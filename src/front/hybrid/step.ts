import { substituteDim } from '../../base/dim/index.js';
import { mapAttributeDims } from '../../base/attributes/schema.js';
import { bindResults, bindTypes } from '../../ir/bind.js';
import { namedInputs, type Program, type Value } from '../../ir/program.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { perform } from '../dispatch/dispatch.js';
import { runChecked } from '../dispatch/run.js';
import { generatorMoment, returnTo } from '../dispatch/generator.js';
import { holderAmong } from '../graphs/graph-runner.js';
import { withMode } from '../core/mode.js';
import { arrayOf, type NDArray } from '../core/ndarray.js';
import { arrayType } from '../core/array-type.js';
import type { TraceRunner } from '../tracing/trace-runner.js';

/** One operator of a run, or one call of side-effect code. */
export interface Step {
  /** The operator, or the name of the side-effect code. */
  readonly name: string;
  /** The user's line of the call. */
  readonly source: string | undefined;
  readonly inputs: readonly NDArray[];
  readonly outputs: readonly NDArray[];
}

/**
 * Reruns the latest call, one operator at a time and on the current state. Nothing is changed: state and
 * gradients that the code writes are visible to later operators only, random numbers are those of the next
 * call, and side-effect code is not run: its recorded results are shown.
 */
export function* stepThrough(runner: TraceRunner): Generator<Step, void> {
  const { trace, graphs } = runner;
  const locals = [...(runner.locals ?? [])];
  const written = { array: new Map<NDArray, NDArray>(), gradient: new Map<NDArray, NDArray>() };
  for (const [k, { takes, gives, code, parts }] of trace.segments.entries()) {
    const given = takes.map((local) => locals[local]);
    const holder = holderAmong(given);
    const before = generatorMoment();
    const found = withMode({ capture: null, session: null }, 'step', () =>
      graphs[k].operands(given),
    );
    returnTo(before);
    const operands = found.map((operand, i) => {
      if (i < given.length) return written.array.get(operand) ?? operand;
      const read = parts.reads[i - given.length];
      return read.kind === 'array' || read.kind === 'gradient'
        ? (written[read.kind].get(holder(read.of)) ?? operand)
        : operand;
    });
    const results = yield* stepProgram(parts.program, operands);
    gives.forEach((local, i) => (locals[local] = results[i]));
    parts.writes.forEach((write, i) => {
      if (write.kind !== 'array' && write.kind !== 'gradient') return;
      written[write.kind].set(holder(write.of), results[gives.length + i]);
    });
    if (code === null) continue;
    yield {
      name: code.code.name || 'side-effect code',
      source: code.source,
      inputs: code.takes.map((local) => locals[local]),
      outputs: code.gives.map((local) => locals[local]),
    };
  }
}

/** Runs a program operator by operator; the results of its outputs. */
function* stepProgram(
  program: Program,
  operands: readonly NDArray[],
): Generator<Step, readonly NDArray[]> {
  const sizes = bindTypes(namedInputs(program), operands);
  const values = new Map<Value, NDArray>(program.inputs.map((input, i) => [input, operands[i]]));
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    const results = program.results(id);
    if (node.kind === 'constant') {
      const { type, data } = node.data;
      values.set(results[0], arrayOf(arrayType(type.dtype, type.shape), data));
    }
    if (node.kind !== 'call') continue;
    const inputs = program.operands(id).map((value) => values.get(value)!);
    const operation = {
      declaration: declarationOf(node.op),
      regions: node.regions,
      attributes: mapAttributeDims(node.op.attributes, node.attributes, (dim) =>
        substituteDim(dim, sizes),
      ),
    };
    const outputs = withMode({ capture: null, session: null }, node.op.name, () =>
      perform(operation, inputs, runChecked),
    );
    for (const [name, size] of bindResults(node.types, outputs, node.op.name, sizes)) {
      sizes.set(name, size);
    }
    results.forEach((value, i) => values.set(value, outputs[i]));
    yield { name: node.op.name, source: node.source, inputs, outputs };
  }
  return program.outputs.map(({ value }) => values.get(value)!);
}
