import { graphDirective } from '../../base/directive.js';
import { InternalError, KaonError } from '../../base/errors.js';
import { placeOf } from './values/host.js';
import { forgetGivenUp, giveUp, objectsMade } from './values/path.js';
import { TraceFacts, Retrace } from './values/trace-facts.js';
import { restore, saveVariables, type Variables } from './values/variables.js';

/*
 * A branch or loop is traced again where a first trace has found out that a number has to be an array, that a member of
 * an object is state, and the like. These facts are kept while a construct around is traced again: otherwise each would
 * find out its own anew in every trace of those around, and the number of traces would be exponential in the depth.
 */

/** Facts that tracing a construct has found out, with those about the constructs inside of it. */
export class Findings {
  facts: TraceFacts = new TraceFacts();
  /** True for a loop that begins again as one operator where its first iteration shows that an array decides. */
  isReplaced = false;
  #wasTraced = false;
  readonly #inside = new Map<string, Findings>();
  /** Constructs that the trace has come to so far, by their keys. */
  readonly #met = new Map<string, number>();

  /** Findings about a construct that the trace of the one around comes to now: new ones, or those of its trace before. */
  static of(site: string, variables: readonly Variables[]): Findings {
    const names = variables.flatMap(({ merged }) => merged.map(({ name }) => name));
    const key = `${site} ${names.join()}`;
    const { around } = Findings;
    if (around === null) return new Findings();
    const count = around.#met.get(key) ?? 0;
    around.#met.set(key, count + 1);
    const place = `${key} ${count}`;
    const known = around.#inside.get(place) ?? new Findings();
    around.#inside.set(place, known);
    return known;
  }

  /** Findings about the innermost construct that is traced now. */
  static around: Findings | null = null;

  /** Traces the construct once. */
  within<R>(trace: () => R): R {
    const { around } = Findings;
    Findings.around = this;
    this.#met.clear();
    try {
      return trace();
    } finally {
      Findings.around = around;
      if (around === null) forgetGivenUp();
    }
  }

  /** Prepares for another trace of the construct around. @returns False for a construct that is new. */
  revisit(): boolean {
    const wasTraced = this.#wasTraced;
    this.#wasTraced = true;
    if (!wasTraced) return false;
    this.facts.revisit();
    return true;
  }

  /** Forgets everything. */
  reset(): void {
    this.facts = new TraceFacts();
    this.#inside.clear();
  }
}

/** Traces again as long as facts come up that the trace has not known. */
export function retracing<R>(
  site: string,
  variables: readonly Variables[],
  trace: (facts: TraceFacts) => R,
  findings: Findings = Findings.of(site, variables),
): R {
  const saved = variables.map(saveVariables);
  const tried = new Set<string>();
  let isRevisited = findings.revisit();
  for (;;) {
    tried.add(findings.facts.signature);
    const start = objectsMade();
    try {
      return findings.within(() => trace(findings.facts));
    } catch (error) {
      giveUp(start);
      if (error instanceof Retrace) {
        // Nothing new: this is about a construct around. What was tried before would end where it did.
        if (tried.has(findings.facts.signature)) {
          throw Findings.around === null ? endless(site) : error;
        }
      } else if (isRevisited && error instanceof KaonError) {
        // Facts of another trace of the construct around may hold no longer.
        findings.reset();
        tried.clear();
        isRevisited = false;
      } else throw error;
      variables.forEach((each, i) => restore(each, saved[i]));
    }
  }
}

function endless(site: string): InternalError {
  return new InternalError('traces of this construct do not agree', {
    op: graphDirective,
    ...placeOf(site),
  });
}
