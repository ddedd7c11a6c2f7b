import type { NodeId } from '../../graph/graph.js';
import { symbolsOfAttributes } from '../../base/attributes/schema.js';
import { symbolsOfTypes } from '../../ir/bind.js';
import { type CallNode, Program } from '../../ir/program.js';
import { decompose } from '../simplify/decompose.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { Costs } from '../fuse/cost.js';
import { isView } from '../rewrite/views.js';

/** Cost of recomputing a node. */
interface Effort {
  readonly kind: number;
  /** Arithmetic per element. */
  readonly work: number;
}

/** Elementwise: fuses into its readers. */
const point = 0;
/** Reduces many elements to one. */
const fold = 1;
/** A custom loop nest: products, sorts, and nested programs. */
const kernel = 2;

/**
 * Limit of arithmetic per element of a cheap call; an addition is 1. Activations take up to 125, a small part
 * of the product that usually precedes them; a random draw takes 133, and its mask is better saved.
 */
const cheapWork = 128;
/** Limit of arithmetic of a chain of cheap calls that are recomputed together. */
const cheapChain = 512;

/** The recomputable calls, in the order in which recomputing them is preferred. */
export interface Recomputable {
  readonly order: readonly NodeId[];
  /** Length of the prefix that costs nothing: views, and calls without operands. */
  readonly free: number;
  /** Length of the prefix that costs less than saving, free calls included. */
  readonly cheap: number;
}

/**
 * Orders calls by the cost of recomputing them. A call is cheap when it, and all that would have to be
 * recomputed before it, is elementwise with little arithmetic; at intervals along a chain of cheap calls one
 * counts as expensive, which bounds the chains. Expensive calls are ordered such that any number of them is
 * spread over the program when saved (Chen et al., Training deep nets with sublinear memory cost, 2016);
 * products are saved longest.
 */
export function recomputable(program: Program, nodes: readonly NodeId[]): Recomputable {
  const efforts = new Efforts(program);
  const free: NodeId[] = [];
  const cheap: { readonly id: NodeId; readonly work: number }[] = [];
  const dear: readonly NodeId[][] = [[], [], []];
  /** Recomputed work of a node, including its chain; 0 for saved nodes. */
  const chains = new Map<NodeId, number>();
  for (const id of nodes) {
    if (introducesDims(program, id)) continue;
    const { kind, work } = efforts.of(id);
    let chain = 0;
    for (const { node } of program.operands(id)) chain = Math.max(chain, chains.get(node) ?? 0);
    const isCheap = kind === point && work <= cheapWork && chain + work <= cheapChain;
    if (!isCheap) dear[kind].push(id);
    else {
      chains.set(id, chain + work);
      if (isFree(program, id)) free.push(id);
      else cheap.push({ id, work });
    }
  }
  cheap.sort((a, b) => a.work - b.work);
  return {
    order: [...free, ...cheap.map(({ id }) => id), ...dear.flatMap(spread)],
    free: free.length,
    cheap: free.length + cheap.length,
  };
}

/** True when recomputing a call costs nothing: a view, or a call without operands. */
export function isFree(program: Program, id: NodeId): boolean {
  const { op } = program.node(id) as CallNode;
  const { kind } = declarationOf(op).lowering;
  return isView(program, id) || (kind === 'point' && program.operands(id).length === 0);
}

/** True for a call that determines sizes from data, which must not be repeated because it names them. */
export function introducesDims(program: Program, id: NodeId): boolean {
  const { op, attributes, types } = program.node(id) as CallNode;
  const known = symbolsOfTypes(program.operands(id).map(({ type }) => type));
  symbolsOfAttributes(op.attributes, attributes, known);
  for (const name of symbolsOfTypes(types).keys()) if (!known.has(name)) return true;
  return false;
}

/** A permutation of a list of which every suffix is spread over the whole (van der Corput order). */
function spread<T>(list: readonly T[]): readonly T[] {
  const bits = Math.ceil(Math.log2(Math.max(2, list.length)));
  const reversed = (index: number): number => {
    let result = 0;
    for (let bit = 0; bit < bits; bit++) result = result * 2 + ((index >> bit) & 1);
    return result;
  };
  return list
    .map((item, index) => ({ item, at: reversed(index) }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

class Efforts {
  readonly #program: Program;
  readonly #costs: Costs;

  constructor(program: Program) {
    this.#program = program;
    this.#costs = new Costs(program);
  }

  of(id: NodeId): Effort {
    switch (declarationOf((this.#program.node(id) as CallNode).op).lowering.kind) {
      case 'view':
        return { kind: point, work: 0 };
      case 'point': {
        const { work, reads } = this.#costs.of(id);
        return { kind: point, work: reads.reduce((sum, count) => sum + count, work) };
      }
      case 'reduce':
        return { kind: fold, work: 1 };
      case 'decompose':
        return this.#ofParts(id);
      case 'kernel':
      case 'inline':
      case 'foreach':
      case 'while':
      case 'branch':
        return { kind: kernel, work: 1 };
    }
  }

  /** Cost of a decomposed operator: the sum over its parts. */
  #ofParts(id: NodeId): Effort {
    const call = this.#program.node(id) as CallNode;
    const alone = new Program();
    const inputs = this.#program.operands(id).map(({ type }, k) => alone.variable(`x${k}`, type));
    const results = alone.appendTyped(call.op, inputs, call.attributes, call.types, call);
    alone.setOutputs(results.map((value, k) => ({ name: `y${k}`, value })));
    const parts = decompose(alone);
    const efforts = new Efforts(parts);
    return [...parts.calls()]
      .map(([part]) => efforts.of(part))
      .reduce((a, b) => ({ kind: Math.max(a.kind, b.kind), work: a.work + b.work }), {
        kind: point,
        work: 0,
      });
  }
}
