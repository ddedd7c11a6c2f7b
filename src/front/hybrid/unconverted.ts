import { graphDirective } from '../../base/directive.js';
import { TraceError } from '../../base/errors.js';

/** The directive at the start of a body, after other directives and comments. */
const asked =
  /^[^]*?\{(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/|(["'])(?!use graph\1)[^"'\n]*\1;?)*(["'])use graph\2/;

/**
 * Refuses a function that asks to be converted and has not been: captured, it would take whatever path the
 * values at hand decide. Converted functions have another directive.
 */
export function refuseUnconverted(fn: (...args: never[]) => unknown, op: string): void {
  const text = Function.prototype.toString.call(fn);
  if (!text.includes(graphDirective) || !asked.test(text)) return;
  throw new TraceError("the function has the directive 'use graph', and was not converted", {
    op,
    expected: 'a converted function',
    actual: `the code of ${fn.name === '' ? 'a function' : fn.name} as it was written`,
    advice:
      'convert its module with kaon/plugin when it is built, with node --import kaon/register when it is loaded, or by transform(code, { filename }) of kaon/source',
  });
}
