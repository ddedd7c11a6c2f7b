import type { BinaryOp } from '../../loop/language/nodes.js';

/** C text of an operation on masks `a` and `b`, whose lanes are 0 or -1. */
export function maskText(op: BinaryOp): string {
  switch (op) {
    case 'and':
      return 'a & b';
    case 'or':
      return 'a | b';
    case 'eq':
      return '~(a ^ b)';
    default: // xor, ne
      return 'a ^ b';
  }
}
