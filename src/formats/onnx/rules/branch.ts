import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import { freeNames } from '../model.js';
import type { ImportedNode } from '../node.js';
import { type ImportedOperand, TensorOperand } from '../operand.js';
import type { GraphProto } from '../proto/onnx_pb.js';
import { ImportedRegion } from '../region.js';
import { anyElement, type ImportRules } from './rule.js';

/** Captures every outer value that some of the graphs read, in the same order for all regions. */
function captureFor(
  node: ImportedNode,
  graphs: readonly GraphProto[],
  regions: readonly ImportedRegion[],
): void {
  const names = new Set(graphs.flatMap((graph) => [...freeNames(graph)]));
  const visit = (operand: ImportedOperand): void => {
    if (operand.kind === 'sequence') operand.entries.forEach(visit);
    else if (operand.kind === 'rows') visit(operand.rows);
    else if (operand.kind === 'optional') {
      if (operand.entry !== null) visit(operand.entry);
    } else if (operand.made !== null) {
      for (const region of regions) region.use(node.region.use(operand.made));
    }
  };
  for (const name of names) {
    const operand = node.scope.find(name);
    if (operand !== undefined && operand !== null) visit(operand);
  }
}

/** The tensors in operands, and a function that rebuilds the operands from others. */
function flattened(operands: readonly ImportedOperand[]): readonly TensorOperand[] {
  return operands.flatMap((operand): readonly TensorOperand[] => {
    if (operand.kind === 'tensor') return [operand];
    if (operand.kind === 'sequence') return flattened(operand.entries);
    if (operand.kind === 'rows') return [operand.rows];
    return operand.entry === null ? [] : flattened([operand.entry]);
  });
}

function rebuilt(operand: ImportedOperand, next: () => TensorOperand): ImportedOperand {
  if (operand.kind === 'tensor') return next();
  if (operand.kind === 'rows') return { kind: 'rows', rows: next() };
  if (operand.kind === 'sequence') {
    return { kind: 'sequence', entries: operand.entries.map((entry) => rebuilt(entry, next)) };
  }
  if (operand.entry === null) return operand;
  return { kind: 'optional', entry: rebuilt(operand.entry, next) as TensorOperand };
}

/** True when operands have the same nesting with the same number of tensors. */
function sameNesting(a: ImportedOperand, b: ImportedOperand): boolean {
  if (a.kind === 'tensor' || b.kind === 'tensor') {
    return a.kind === b.kind && (a as TensorOperand).element === (b as TensorOperand).element;
  }
  if (a.kind === 'sequence' && b.kind === 'sequence') {
    return a.entries.length === b.entries.length && a.entries.every((each, k) => sameNesting(each, b.entries[k])); // prettier-ignore
  }
  if (a.kind === 'rows' && b.kind === 'rows') return sameNesting(a.rows, b.rows);
  if (a.kind !== 'optional' || b.kind !== 'optional') return false;
  if (a.entry === null || b.entry === null) return a.entry === b.entry;
  return sameNesting(a.entry, b.entry);
}

/** Selects one of two graphs: at import when the condition is known. */
function branch(node: ImportedNode): readonly ImportedOperand[] {
  const outputs = node.proto.output.length;
  const graphs = [node.attributes.graph('then_branch'), node.attributes.graph('else_branch')];
  const known = node.dataIfKnown(0);
  if (known !== null) return node.subgraph(graphs[known.data[0] ? 0 : 1], [], outputs);
  const predicate = node.value(0);
  const regions = graphs.map(() => new ImportedRegion(node.region));
  captureFor(node, graphs, regions);
  const results = graphs.map((graph, k) => node.subgraph(graph, [], outputs, regions[k]));
  if (results[0].length !== results[1].length)
    throw node.refuse('the branches have different numbers of outputs');
  results[0].forEach((result, k) => {
    if (!sameNesting(result, results[1][k])) {
      throw node.unknown(0, `the branches give output ${k} of different kinds or lengths`);
    }
  });
  const flat = results.map(flattened);
  flat[0].forEach(({ type }, k) => {
    const other = flat[1][k].type;
    if (type.shape.length !== other.shape.length) throw node.unknown(0, `the branches give output ${k} of different ranks`); // prettier-ignore
  });
  regions.forEach((region, k) => {
    region.program.setOutputs(
      flat[k].map((operand, i) => ({ name: `y${i}`, value: operand.valueIn(region) })),
    );
  });
  checkCaptures(node, regions);
  const [{ program, captures, sizes }, other] = regions;
  const made = ops.cond<Value>(predicate, program, other.program, [...captures.keys()], sizes);
  let at = 0;
  return results[0].map((result) =>
    rebuilt(result, () => TensorOperand.of(made[at], flat[0][at++].element)),
  );
}

/** Asserts that the regions of one operator capture the same values in the same order. */
function checkCaptures(node: ImportedNode, regions: readonly ImportedRegion[]): void {
  const [first, ...others] = regions.map(({ captures }) => [...captures.keys()]);
  const isSame = others.every((each) => each.length === first.length && each.every((value, k) => value === first[k])); // prettier-ignore
  if (!isSame) throw node.unsupported('its graphs compute with what lies outside of them');
}

export const branches: ImportRules = {
  If: anyElement(branch),
};
