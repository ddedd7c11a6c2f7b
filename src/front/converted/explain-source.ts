import { callable, checkArgument } from '../../base/attributes/options.js';
import { ArgumentError } from '../../base/errors.js';
import {
  constructLines,
  decodeConstructs,
  type SourceConstruct,
} from '../../source/explain/construct.js';
import { constructText, originalOf } from '../options/originals.js';

export type { SourceConstruct };

/** The branches and loops of a converted function. */
export interface SourceExplanation {
  readonly name: string;
  /** In the order of the text, those of functions inside among them. */
  readonly constructs: readonly SourceConstruct[];
  /** The same as text. */
  toString(): string;
}

/**
 * Tells for each branch and loop of a function with `'use graph'` its place in the code as it was written,
 * and the variables that it reads, carries from one iteration to the next, returns, and keeps local.
 *
 * @param fn A converted function, or what `hybridize` and `staticGraph` have made of one; of a block, its
 * `forward`.
 * @throws ArgumentError for a function that was not converted.
 */
export function explainSource(fn: (...args: never[]) => unknown): SourceExplanation {
  checkArgument('explainSource', 'fn', fn, callable);
  const name = originalOf(fn).name || 'anonymous';
  const text = constructText(fn);
  if (text === null) {
    throw new ArgumentError('there is nothing to tell of a function that was not converted', {
      op: 'explainSource',
      expected:
        "a function with the directive 'use graph', converted by kaon/plugin or kaon/register",
      actual: `the code of ${name} as it was written`,
    });
  }
  const constructs = decodeConstructs(text);
  const count = `${constructs.length} ${constructs.length === 1 ? 'branch or loop' : 'branches and loops'}`;
  return {
    name,
    constructs,
    toString: () =>
      [`${name}: ${count}`, ...constructLines(constructs).map((line) => `  ${line}`)].join('\n'),
  };
}
