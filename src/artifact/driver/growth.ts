import { addDim, type Dim, type DimExpr, mulDim, subDim, substituteDim, symbol } from '../../base/dim/index.js'; // prettier-ignore
import type { Handle, HostStatementOf } from '../../passes/host/statements.js';
import { bytesAt } from './layout.js';
import type { Memory } from './memory.js';
import type { Names } from './names.js';
import type { PlacedStatement } from './statements.js';

/** The memory in which rows grow. */
interface GrowingMemory {
  readonly names: Names;
  readonly memory: Memory;
  readonly addressOf: (handle: Handle) => Dim;
  /** Names of the addresses of results of a call, which lie behind all that stays, and of their end; none if empty. */
  readonly floating: readonly DimExpr[];
}

/** Moves up what lies behind rows that need more memory: results of a call, and rows, the last ones first. */
export function growth(
  { stacks, rows, needed, to, kept }: HostStatementOf<'grow'>,
  { names, memory, addressOf, floating }: GrowingMemory,
): PlacedStatement {
  const old = names.fresh('old');
  const before = new Map([[rows, old]]);
  const movedFrom = (at: Dim): Dim => substituteDim(at, before);
  const consequent: PlacedStatement[] = [
    { kind: 'set', name: old.key, value: symbol(rows) },
    { kind: 'assign', name: rows, value: to },
  ];
  const { end } = memory;
  const last = floating.at(-1);
  if (last === undefined) consequent.push({ kind: 'reserve', end });
  else {
    const by = names.fresh('by');
    const from = movedFrom(end);
    consequent.push(
      { kind: 'set', name: by.key, value: subDim(end, from) },
      { kind: 'reserve', end: addDim(last, by) },
      { kind: 'move', to: end, from, bytes: subDim(last, from) },
      ...floating.map((each) => ({ kind: 'assign', name: each.key, value: addDim(each, by) }) as const), // prettier-ignore
    );
  }
  for (const { of, row } of stacks.slice(1).reverse()) {
    const at = addressOf(of);
    consequent.push({ kind: 'move', to: at, from: movedFrom(at), bytes: mulDim(bytesAt(of, row), kept) }); // prettier-ignore
  }
  const when = { relation: '>=', dim: subDim(subDim(needed, symbol(rows)), 1) } as const;
  return { kind: 'choose', when, consequent, alternate: [] };
}
