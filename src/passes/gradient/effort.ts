import type { NodeId } from '../../graph/graph.js';
import { symbolsOfAttributes } from '../../base/attributes/schema.js';
import { symbolsOfTypes } from '../../ir/bind.js';
import { type CallNode, Program } from '../../ir/program.js';
import { decompose } from '../simplify/decompose.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { Costs } from '../fuse/cost.js';
import { isView } from '../rewrite/views.js';

/** What computing a node once more takes. */
interface Effort {
  readonly kind: number;
  /** Arithmetic per element. */
  readonly work: number;
}

/** One element after the other: disappears in the loops of whoever reads it. */
const point = 0;
/** Folds many elements into one. */
const fold = 1;
/** A loop nest of its own: products, sorts, and programs inside programs. */
const kernel = 2;

/**
 * The most arithmetic per element of a cheap call, where an addition is 1. Activations take up to 125, a
 * small part of the product that usually comes before them; a random draw takes 133, and its mask is
 * better kept.
 */
const cheapWork = 128;
/** The same of a chain of cheap calls that are computed again one after the other. */
const cheapChain = 512;

/** The calls that can be computed again, those first that are missed least when they are not kept. */
export interface Recomputable {
  readonly order: readonly NodeId[];
  /** So many from the front take no time at all: views, and what has no operands. */
  readonly free: number;
  /** So many from the front take less time than keeping them does, the free ones among them. */
  readonly cheap: number;
}

/**
 * Orders calls by what computing them again takes. A call is cheap when it, and all that would have to be
 * computed again before it, is done element by element with little arithmetic; every so often along a
 * chain of cheap calls one counts as dear, so that no chain grows beyond that. Dear ones are ordered such
 * that whatever number of them is kept is spread over the program (Chen et al., Training deep nets with
 * sublinear memory cost, 2016), products being kept longest.
 */
export function recomputable(program: Program, nodes: readonly NodeId[]): Recomputable {
  const efforts = new Efforts(program);
  const free: NodeId[] = [];
  const cheap: { readonly id: NodeId; readonly work: number }[] = [];
  const dear: readonly NodeId[][] = [[], [], []];
  /** Work that is done again with a node, by node; 0 for what is kept. */
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

/** Whether computing a call again is no work: a view, or elements out of nothing. */
export function isFree(program: Program, id: NodeId): boolean {
  const { op } = program.node(id) as CallNode;
  const { kind } = declarationOf(op).lowering;
  return isView(program, id) || (kind === 'point' && program.operands(id).length === 0);
}

/** A call that finds sizes in data must not be made twice: it names them. */
export function introducesDims(program: Program, id: NodeId): boolean {
  const { op, attributes, types } = program.node(id) as CallNode;
  const known = symbolsOfTypes(program.operands(id).map(({ type }) => type));
  symbolsOfAttributes(op.attributes, attributes, known);
  for (const name of symbolsOfTypes(types).keys()) if (!known.has(name)) return true;
  return false;
}

/** A list in such an order that every end of it is spread over the whole (the order of van der Corput). */
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

  /** An operator that is written in others takes what they take together. */
  #ofParts(id: NodeId): Effort {
    const call = this.#program.node(id) as CallNode;
    const alone = new Program();
    const inputs = this.#program.operands(id).map(({ type }, k) => alone.variable(`x${k}`, type));
    const results = alone.appendTyped(call.op, inputs, call.attributes, call.types, call);
    alone.setOutputs(results.map((value, k) => ({ name: `y${k}`, value })));
    const parts = decompose(alone);
    const efforts = new Efforts(parts);
    const calls = [...parts.graph.nodes()].filter((part) => parts.node(part).kind === 'call');
    return calls
      .map((part) => efforts.of(part))
      .reduce((a, b) => ({ kind: Math.max(a.kind, b.kind), work: a.work + b.work }), {
        kind: point,
        work: 0,
      });
  }
}
