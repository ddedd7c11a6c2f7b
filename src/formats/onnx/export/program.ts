import { type DType, isFloat } from '../../../base/dtype.js';
import { InternalError } from '../../../base/errors.js';
import { sameDim, sameShape } from '../../../base/dim/index.js';
import { symbolsOfAttributes } from '../../../base/attributes/schema.js';
import type { NodeId } from '../../../graph/graph.js';
import { nodesBehind } from '../../../ir/behind.js';
import { symbolsOfTypes } from '../../../ir/bind.js';
import type { CallNode, Program, Value } from '../../../ir/program.js';
import type { Shape, TensorType } from '../../../ir/types.js';
import { declarationOf, sizesPassedBy } from '../../../ops/declare/facets.js';
import type { OnnxCall, OnnxDType, OnnxValue } from '../../../ops/declare/onnx.js';
import { composedProgram, type Composition } from '../../programs.js';
import { writeControl } from './control.js';
import { carrierDType } from './carriers.js';
import { writePoint } from './points.js';
import { Sizes } from './sizes.js';
import type { GraphWriter } from './writer.js';

/** Writes a program as nodes of the current graph, and returns its outputs. Its symbols are those of `scope`. */
export function writeProgram(
  onnx: GraphWriter,
  program: Program,
  operands: readonly OnnxValue[],
  scope: Sizes,
): readonly OnnxValue[] {
  return onnx.inScope(scope, () => {
    const values = new Map<Value, OnnxValue>();
    program.inputs.forEach((input, i) => {
      values.set(input, operands[i]);
      scope.learn(operands[i], input.type.shape);
    });
    for (const id of nodesBehind(
      program,
      program.outputs.map(({ value }) => value),
    )) {
      const node = program.node(id);
      const results = program.results(id);
      if (node.kind === 'constant') {
        const { type, data } = node.data;
        values.set(results[0], onnx.constant(type.dtype, data, type.shape));
      } else if (node.kind === 'call') {
        const inputs = program.operands(id).map((operand) => values.get(operand)!);
        const written = onnx.naming(node.op.name, () => writeCall(onnx, program, id, inputs));
        results.forEach((result, port) => {
          if (written[port].dtype !== result.type.dtype) {
            throw new InternalError('a result was written in another dtype', {
              op: node.op.name,
              expected: result.type.dtype,
              actual: written[port].dtype,
            });
          }
          values.set(result, written[port]);
          scope.learn(written[port], result.type.shape);
        });
      }
    }
    return program.outputs.map(({ value }) => values.get(value)!);
  });
}

/** Writes a call by its ONNX facet, or else by its lowering. */
function writeCall(
  onnx: GraphWriter,
  program: Program,
  id: NodeId,
  inputs: readonly OnnxValue[],
): readonly OnnxValue[] {
  const node = program.node(id) as CallNode;
  const { onnx: mapping, lowering } = declarationOf(node.op);
  const call: OnnxCall = {
    onnx,
    inputs,
    inputTypes: program.operands(id).map(({ type }) => type),
    outputTypes: node.types,
    attributes: node.attributes,
    regions: node.regions,
  };
  const isEmpty = ({ shape }: TensorType): boolean => shape.includes(0) && onnx.scope.knows(shape);
  if (node.types.length > 0 && node.types.every(isEmpty)) {
    return node.types.map(({ dtype, shape }) => writeEmpty(onnx, dtype, shape));
  }
  if (typeof mapping === 'string' && takes(mapping, inputs[0])) return [onnx.node(mapping, inputs)];
  const written = typeof mapping === 'function' ? mapping(call) : (mapping ?? null);
  if (written !== null && typeof written !== 'string') {
    if ('composed' in written) return writeComposed(onnx, program, node, call, written.composed);
    return 'name' in written ? [written] : written;
  }
  switch (lowering.kind) {
    case 'point':
      return [writePoint(onnx, lowering, call)];
    case 'view':
      return [writeView(call)];
    case 'decompose':
      return writeComposed(onnx, program, node, call, lowering.decompose);
    case 'inline':
      return writeProgram(onnx, node.regions[0], inputs, passedTo(onnx, node));
    case 'branch':
    case 'while':
    case 'foreach':
      return writeControl(lowering, { ...call, onnx, write: writeProgram, sizes: sizesPassedBy(node) }); // prettier-ignore
    default:
      return onnx.unsupported('it has no counterpart');
  }
}

/** The sizes that a call passes to its program. */
function passedTo(onnx: GraphWriter, call: CallNode): Sizes {
  const scope = new Sizes();
  const [{ sizes }] = call.regions;
  sizesPassedBy(call).forEach((size, i) => scope.bind(sizes[i].key, onnx.sizes([size])));
  return scope;
}

/** True when an ONNX operator accepts such elements, or narrower ones of their kind. */
function takes(type: string, { dtype }: OnnxValue): boolean {
  const carrier = carrierDType(type, dtype);
  return carrier !== null && isFloatDType(carrier) === isFloatDType(dtype);
}

const isFloatDType = (dtype: OnnxDType): boolean =>
  dtype !== 'uint32' && dtype !== 'uint64' && isFloat(dtype);

/** An empty result needs no computation, which runtimes may refuse. */
function writeEmpty(onnx: GraphWriter, dtype: DType, shape: Shape): OnnxValue {
  return onnx.node('Expand', [onnx.scalar(dtype, 0), onnx.sizes(shape)]);
}

function writeView({ onnx, inputs: [x], inputTypes, outputTypes }: OnnxCall): OnnxValue {
  const [{ shape }] = outputTypes;
  const from = inputTypes[0].shape;
  if (sameShape(from, shape)) return x;
  const added = onesAddedTo(from, shape);
  if (added !== null) return onnx.node('Unsqueeze', [x, onnx.ints(added)]);
  const dropped = onesAddedTo(shape, from);
  if (dropped !== null) return onnx.node('Squeeze', [x, onnx.ints(dropped)]);
  return onnx.reshape(x, shape);
}

/** The axes of size 1 that one shape adds to another; null when they differ otherwise. */
function onesAddedTo(from: Shape, to: Shape): readonly number[] | null {
  const added: number[] = [];
  let next = 0;
  to.forEach((dim, axis) => {
    if (next < from.length && sameDim(dim, from[next])) next++;
    else if (dim === 1) added.push(axis);
    else next = Infinity;
  });
  return next === from.length ? added : null;
}

/** Writes a call as the operators it decomposes into. */
function writeComposed(
  onnx: GraphWriter,
  outer: Program,
  { op }: CallNode,
  call: OnnxCall,
  compose: Composition,
): readonly OnnxValue[] {
  const { inputs, inputTypes, outputTypes, attributes } = call;
  // Symbols that the decomposition introduces are its own; those of the call belong to the enclosing program.
  const shown = symbolsOfTypes([...inputTypes, ...outputTypes]);
  symbolsOfAttributes(op.attributes, attributes, shown);
  const inner = composedProgram(outer, call, compose);
  return writeProgram(onnx, inner, inputs, new Sizes(onnx.scope, new Set(shown.keys())));
}
