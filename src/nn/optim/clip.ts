import { ArgumentError } from '../../base/errors.js';
import * as autograd from '../../front/autograd/index.js';
import type { NDArray } from '../../front/ndarray.js';
import { setGradient } from '../../front/values.js';
import { minimum, sqrt } from '../../ops/index.js';
import type { Parameter } from '../parameter.js';

/**
 * Scales all gradients by one factor so that their common Euclidean norm is at most `maxNorm`. Returns
 * the norm before. Source: Pascanu, Mikolov and Bengio, ICML 2013.
 */
export function clipGlobalNorm(
  parameters: ReadonlyMap<string, Parameter>,
  maxNorm: number,
): NDArray {
  if (!(maxNorm > 0)) {
    throw new ArgumentError('maxNorm is a length', {
      op: 'clipGlobalNorm',
      expected: 'a number above 0',
      actual: String(maxNorm),
    });
  }
  const trained = [...parameters.values()].filter(({ grad }) => grad !== null);
  if (trained.length === 0) {
    throw new ArgumentError('no parameter has a gradient', {
      op: 'clipGlobalNorm',
      advice: 'run a backward pass first',
    });
  }
  return autograd.pause(() => {
    const grads = trained.map(({ grad }) => grad!);
    const norm = sqrt(grads.map((grad) => grad.square().sum()).reduce((a, b) => a.add(b)));
    const factor = minimum(norm.add(1e-6).reciprocal().mul(maxNorm), 1);
    trained.forEach(({ value }, i) => setGradient(value, grads[i].mul(factor)));
    return norm;
  });
}
