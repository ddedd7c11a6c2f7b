import { InternalError } from '../../base/errors.js';
import { type Dim, sameShape } from '../../base/dim/index.js';
import { nodesBehind } from '../../ir/behind.js';
import { bindProgram, substituteCall } from '../../ir/bind.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import { declarationOf, sizesPassedBy } from '../../ops/declare/facets.js';
import { composedProgram, type Composition } from '../programs.js';
import { type HloCall, knownType } from './lowering/call.js';
import { writeHloControl } from './lowering/control.js';
import { writeHloPoint } from './lowering/points.js';
import { writeReduction } from './lowering/reductions.js';
import { hloRuleFor } from './rules/index.js';
import { type HloValue, isEmpty } from './language/types.js';
import type { HloWriter } from './language/writer.js';

/**
 * Writes a program on operands, and returns its outputs, or those `kept`. Its symbols are those of the module, or are
 * replaced by the module's sizes.
 */
export function writeHloProgram(
  hlo: HloWriter,
  program: Program,
  operands: readonly HloValue[],
  kept: readonly number[] | null = null,
  dims: ReadonlyMap<string, Dim> = new Map(),
): readonly HloValue[] {
  const outputs = kept === null ? program.outputs : kept.map((k) => program.outputs[k]);
  const values = new Map<Value, HloValue>();
  program.inputs.forEach((input, i) => values.set(input, operands[i]));
  const ends = outputs.map(({ value }) => value);
  const order = nodesBehind(program, ends);
  const lastReads = new Map(
    order.flatMap((id) => program.operands(id).map((value) => [value, id])),
  );
  for (const value of [...program.inputs, ...ends]) lastReads.delete(value);
  for (const id of order) {
    const node = program.node(id);
    const results = program.results(id);
    if (node.kind === 'constant') {
      const { type, data } = node.data;
      values.set(results[0], hlo.constant(type.dtype, data, type.shape));
    } else if (node.kind === 'call') {
      const read = program.operands(id);
      const [inputs, spent] = [read, read.filter((value) => lastReads.get(value) === id)].map((list) => list.map((value) => values.get(value)!)); // prettier-ignore
      const written = hlo.naming(node.op.name, node.source, () => writeCall(hlo, program, substituteCall(node, dims), inputs, spent)); // prettier-ignore
      results.forEach((result, port) => values.set(result, written[port]));
    }
  }
  return ends.map((value) => values.get(value)!);
}

/** Writes a region, or the program of a call, for its operands and the sizes that it is passed. */
function writeRegion(
  hlo: HloWriter,
  region: Program,
  operands: readonly HloValue[],
  sizes: readonly Dim[],
): readonly HloValue[] {
  return writeHloProgram(hlo, region, operands, null, bindProgram(region, operands, sizes));
}

function writeCall(
  hlo: HloWriter,
  program: Program,
  node: CallNode,
  inputs: readonly HloValue[],
  spent: readonly HloValue[],
): readonly HloValue[] {
  const outputTypes = node.types.map((type) => knownType(hlo, type));
  const call: HloCall = {
    hlo,
    inputs,
    inputTypes: inputs.map(({ dtype, shape }) => ({ dtype, shape })),
    outputTypes,
    attributes: node.attributes,
    regions: node.regions,
    spent,
  };
  // An empty result needs no computation, which may not be well-formed on nothing.
  if (outputTypes.length > 0 && outputTypes.every(isEmpty)) {
    return outputTypes.map(({ dtype, shape }) => hlo.splat(dtype, 0, shape));
  }
  const written = writeByRule(call, program, node);
  return written.map((value, k) => hlo.checked(value, outputTypes[k]));
}

/** Writes a call by the rule of its operator, or else by its lowering. */
function writeByRule(call: HloCall, program: Program, node: CallNode): readonly HloValue[] {
  const { hlo, inputs, outputTypes, regions } = call;
  const declaration = declarationOf(node.op);
  const byRule = hloRuleFor(declaration)?.(call) ?? null;
  if (byRule !== null) return 'name' in byRule ? [byRule] : byRule;
  const { lowering, onnx } = declaration;
  switch (lowering.kind) {
    case 'point':
      return [writeHloPoint(call, lowering)];
    case 'reduce':
      return writeReduction(call, lowering);
    case 'view':
      return [hlo.reshape(inputs[0], outputTypes[0].shape)];
    case 'decompose':
      return writeComposed(call, program, node, lowering.decompose);
    case 'inline':
      return writeRegion(hlo, regions[0], inputs, sizesPassedBy(node));
    case 'branch':
    case 'while':
    case 'foreach':
      return writeHloControl(lowering, call, (to, region, operands) =>
        writeRegion(to, region, operands, sizesPassedBy(node)),
      );
    case 'kernel':
      // A composition of other operators is no matter of the format for which it was declared.
      if (typeof onnx === 'object') return writeComposed(call, program, node, onnx.composed);
      return hlo.unsupported('it has no counterpart');
  }
}

/** Writes a call as the operators it decomposes into. */
function writeComposed(
  call: HloCall,
  outer: Program,
  { op }: CallNode,
  compose: Composition,
): readonly HloValue[] {
  const inner = composedProgram(outer, call, compose);
  inner.outputs.forEach(({ value: { type } }, i) => {
    if (sameShape(type.shape, call.outputTypes[i].shape)) return;
    throw new InternalError('a composition has another shape than its operator', { op: op.name });
  });
  return writeHloProgram(call.hlo, inner, call.inputs);
}
