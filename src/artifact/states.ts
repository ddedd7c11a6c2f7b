import type { HostArray } from '../base/dtype.js';
import { InternalError, UnsupportedError } from '../base/errors.js';
import { generatorState } from '../front/dispatch/generator.js';
import type { ExternalRef } from '../front/graphs/graph.js';

/** The current value of a graph's read. */
export function stateArrayOf(
  op: string,
  name: string,
  outside: ExternalRef,
): { readonly shape: readonly number[]; readonly data: HostArray } {
  switch (outside.kind) {
    case 'array':
      if (typeof outside.of === 'number') {
        throw new UnsupportedError(`the graph reads argument ${outside.of} as state`, {
          op,
          expected: 'state that belongs to the graph',
          actual: name,
          advice: 'return what the function assigns to its arguments',
        });
      }
      return { shape: outside.of.shape, data: outside.of.storage.host.slice() };
    case 'host':
      return { shape: [], data: Float32Array.of(outside.of.read()) };
    case 'random': {
      const { seed, counter } = generatorState();
      return { shape: [2], data: BigInt64Array.of(seed, counter) };
    }
    case 'gradient':
      throw new InternalError('gradients are no part of an artifact');
  }
}
