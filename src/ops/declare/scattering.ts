import type { Expr } from '../../loop/language/nodes.js';
import type { Access } from './lowering.js';

/** A scatter: contributions that may collide in one element. */
export interface Scattering {
  /** Initial contents; default zeros. Where the result reuses its buffer, it stays. */
  readonly onto?: Access;
  /** The contributions, visited in row-major order. */
  readonly domain: readonly Expr[];
  target(index: readonly Expr[]): readonly Expr[];
  value(index: readonly Expr[]): Expr;
  /** `add` sums contributions (for bool: logical or), `set` keeps the last. Default `add`. */
  readonly combine?: 'add' | 'set';
  /**
   * Targets of contributions that differ only along the last axis of the domain: `rows` along the last axis
   * of the result, each at its own index; `apart` anywhere, but never in one element. Default: anywhere.
   */
  readonly last?: 'rows' | 'apart';
  /** Most contributions to one element. Default: all of them. */
  readonly most?: Expr;
  /**
   * Indices of the contributions that may go to an element of the result; null along axes of the domain where all may.
   * Default: nothing is known.
   */
  from?(index: readonly Expr[]): readonly (Expr | null)[];
}
