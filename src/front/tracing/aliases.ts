import { TraceError } from '../../base/errors.js';
import { namedInputs } from '../../ir/program.js';
import type { ExternalRef } from '../graphs/graph.js';
import { NDArray } from '../core/ndarray.js';
import type { Trace } from './trace.js';

/** Part of an array that captured code may use or change. */
type Slot = Extract<ExternalRef['kind'], 'array' | 'gradient'>;

/** Uses of one array in captured code, under one name. */
interface Uses {
  readonly name: string;
  readonly used: Set<Slot>;
  readonly changed: Set<Slot>;
}

/**
 * Arguments that a trace could not tell from arrays which the code uses from outside. A trace gives an argument
 * and an outer array an input each, so that a change of one is not seen in the other: a call that passes the
 * outer array itself is refused.
 */
export class ArgumentAliases {
  readonly #outer: Map<NDArray, Uses> = new Map();
  readonly #arguments: Map<number, Uses> = new Map();

  /** Null for a trace that serves all arguments. */
  static of(trace: Trace): ArgumentAliases | null {
    const aliases = new ArgumentAliases(trace);
    return aliases.#outer.size > 0 ? aliases : null;
  }

  private constructor({ segments }: Trace) {
    if (segments.every(({ parts }) => parts.writes.length === 0)) return;
    for (const { parts, takes } of segments) {
      const names = namedInputs(parts.program).map(({ name }) => name);
      const first = names.length - parts.reads.length;
      const note = (ref: ExternalRef, name: string, isWrite: boolean): void => {
        if (ref.kind !== 'array' && ref.kind !== 'gradient') return;
        const { of } = ref;
        const uses =
          of instanceof NDArray
            ? entry(this.#outer, of, name)
            : entry(this.#arguments, takes[of], names[of]);
        (isWrite ? uses.changed : uses.used).add(ref.kind);
      };
      parts.reads.forEach((ref, k) => note(ref, names[first + k], false));
      for (const ref of parts.writes) note(ref, 'captured', true);
    }
  }

  /** @throws TraceError for an argument that is an outer array, if the code changes either. */
  refuse(given: readonly NDArray[]): void {
    for (let k = 0; k < given.length; k++) {
      const outer = this.#outer.get(given[k]);
      if (outer === undefined) continue;
      const argument = this.#arguments.get(k);
      const conflicts = (slot: Slot): boolean => {
        const isUsed = slot === 'array' || argument?.used.has(slot) === true;
        const isChanged = argument?.changed.has(slot) === true;
        return outer.changed.has(slot) ? isUsed || isChanged : isChanged && outer.used.has(slot);
      };
      if (conflicts('array') || conflicts('gradient')) throw aliased(argument?.name ?? k, outer);
    }
  }
}

function entry<K>(all: Map<K, Uses>, key: K, name: string): Uses {
  let uses = all.get(key);
  if (uses === undefined) all.set(key, (uses = { name, used: new Set(), changed: new Set() }));
  return uses;
}

function aliased(argument: string | number, outer: Uses): TraceError {
  return new TraceError('the captured code changes an array that it knows under two names', {
    op: 'hybridize',
    expected: 'arguments that are none of the arrays which the code uses from outside',
    actual: `the argument ${argument} is the captured array ${outer.name}`,
    advice: 'pass the array, or use it from outside, but not both',
  });
}
