import { addDim, type Dim, mulDim } from '../../base/dim/index.js';
import type { Expr, Var } from '../../loop/language/nodes.js';
import type { ExtentParameters } from '../../loop/language/extents.js';

/** `base + steps[0] * index[0] + steps[1] * index[1] + ...`; omitted steps are 0. */
interface Linear {
  readonly base: Dim;
  readonly steps: ReadonlyMap<number, Dim>;
}

const noSteps: ReadonlyMap<number, Dim> = new Map();

/**
 * Step of an i32 expression for each loop index, by axis. Undefined unless the expression is provably linear
 * in all of them.
 */
export function stepsOf(
  expr: Expr,
  axisOf: ReadonlyMap<Var, number>,
  extents: ExtentParameters,
): ReadonlyMap<number, Dim> | undefined {
  const linear = (x: Expr): Linear | undefined => {
    if (x.kind === 'var') {
      const axis = axisOf.get(x);
      if (axis !== undefined) return { base: 0, steps: new Map([[axis, 1]]) };
    }
    if (x.kind === 'binary' && (x.op === 'add' || x.op === 'sub' || x.op === 'mul')) {
      const a = linear(x.a);
      const b = a === undefined ? undefined : linear(x.b);
      if (a === undefined || b === undefined) return undefined;
      if (x.op === 'add') return plus(a, b);
      if (x.op === 'sub') return plus(a, scaled(b, -1));
      if (a.steps.size === 0) return scaled(b, a.base);
      return b.steps.size === 0 ? scaled(a, b.base) : undefined;
    }
    const base = extents.dim(x);
    return base === undefined ? undefined : { base, steps: noSteps };
  };
  return linear(expr)?.steps;
}

function plus(a: Linear, b: Linear): Linear {
  const base = addDim(a.base, b.base);
  if (a.steps.size === 0) return { base, steps: b.steps };
  if (b.steps.size === 0) return { base, steps: a.steps };
  const steps = new Map(a.steps);
  for (const [axis, step] of b.steps) steps.set(axis, addDim(steps.get(axis) ?? 0, step));
  return { base, steps };
}

function scaled({ base, steps }: Linear, factor: Dim): Linear {
  if (factor === 1) return { base, steps };
  return {
    base: mulDim(base, factor),
    steps: new Map([...steps].map(([axis, step]) => [axis, mulDim(step, factor)])),
  };
}
