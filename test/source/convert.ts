import * as runtime from '../../src/front/converted/index.js';
import { transform } from '../../src/source/index.js';

/** The function `main` of some code, as it is. */
export function original(code: string): (...args: never[]) => unknown {
  return evaluate(code);
}

/** The function `main` of some code, converted. */
export function converted(code: string): (...args: never[]) => unknown {
  return evaluate(convertedCode(code));
}

/** The converted code without the import of the runtime. */
export function convertedCode(code: string, filename = 'program.js'): string {
  const result = transform(code, { filename });
  if (result === null) throw new Error('nothing was converted');
  return result.code.replace(/\nimport \* as \$kn from "kaon\/converted";\n$/, '\n');
}

function evaluate(code: string): (...args: never[]) => unknown {
  // The tests are about code that is put together while they run.
  // oxlint-disable-next-line typescript/no-implied-eval, no-new-func
  const make = new Function('$kn', `'use strict';${code}\nreturn main;`) as (
    given: typeof runtime,
  ) => (...args: never[]) => unknown;
  return make(runtime);
}
