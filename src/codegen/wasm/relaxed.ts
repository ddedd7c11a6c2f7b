import * as e from '../../loop/language/build.js';
import { encodeModule } from './module.js';

let answer: boolean | undefined;

/** True when this engine has relaxed SIMD, tested once by validating a module that uses it. */
export function supportsRelaxed(): boolean {
  if (answer === undefined) {
    const x = e.variable('x', 'f32', 4);
    const probe = e.kernel('probe', [x], e.assign(x, e.add(x, e.mul(x, x))));
    answer = WebAssembly.validate(encodeModule(e.moduleOf([probe]), { relaxed: true }));
  }
  return answer;
}
