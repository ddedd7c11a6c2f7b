import { type Dim, type DimBindings, evaluateDim } from '../../base/dim/index.js';
import { unreachable } from '../../base/unreachable.js';
import type { BindStep, MainStep } from '../../passes/lower/main/steps.js';

/**
 * The most kernels that are handed over with conditions before the host waits to learn which of them ran: an idle one
 * costs some 10 microseconds, a wait more than that and all that was on its way.
 */
export const mostAhead = 1024;

/**
 * The branches and loops of a plan, each with a number; those that need no condition are left out. `isKept` is true for
 * dimensions that only the device knows.
 */
export function conditionalSteps(
  steps: readonly MainStep[],
  isKept: (dim: Dim) => boolean,
): ReadonlyMap<MainStep, number> {
  const found = new Map<MainStep, number>();
  const visit = (all: readonly MainStep[]): void => {
    for (const step of all) {
      if (step.kind === 'kernel' || step.kind === 'bind') continue;
      if (step.kind !== 'foreach' || step.count !== null || isKept(step.length))
        found.set(step, found.size);
      if (step.kind === 'branch') {
        visit(step.consequent);
        visit(step.alternate);
      } else {
        if (step.kind === 'while') visit(step.condition);
        visit(step.body);
      }
    }
  };
  visit(steps);
  return found;
}

/**
 * The most kernels of steps about which the device decides; infinite where the host has to know something. `keeps` is
 * true for sizes that stay on the device, of which `names` has the bounds.
 */
export function launchesAhead(
  steps: readonly MainStep[],
  names: DimBindings,
  keeps: (step: BindStep) => boolean,
): number {
  let sum = 0;
  for (const step of steps) {
    // What comes behind sizes that the device makes may speak of them.
    if (sum === Infinity) return sum;
    switch (step.kind) {
      case 'kernel':
        sum++;
        break;
      case 'bind':
        if (!keeps(step)) return Infinity;
        sum++;
        break;
      case 'branch':
        sum += 1 + launchesAhead([...step.consequent, ...step.alternate], names, keeps);
        break;
      case 'foreach':
        sum += evaluateDim(step.length, names) * (1 + launchesAhead(step.body, names, keeps));
        break;
      case 'while': {
        const each = launchesAhead([...step.condition, ...step.body], names, keeps);
        if (step.limit === null || each === Infinity) return Infinity;
        sum += evaluateDim(step.limit, names) * (1 + each);
        break;
      }
      default:
        unreachable(step);
    }
  }
  return sum;
}
