import type { Target } from '../loop/language/target.js';
import type { DeviceTarget } from '../ops/declare/kernels.js';
import { cpuNests } from './cpu/nests.js';
import { gpuNests } from './gpu/nests.js';

/** A target on which every operator runs by the loops of its declaration. */
export function byDefinition(target: Target): DeviceTarget {
  const nests = target.isGrid === true ? gpuNests : cpuNests;
  return { ...target, kernels: new Map(), nests };
}
