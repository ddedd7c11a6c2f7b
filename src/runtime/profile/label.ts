import { unreachable } from '../../base/unreachable.js';
import { type Dim, type DimBindings, evaluateDim, symbolsOf } from '../../base/dim/index.js';
import type { Program } from '../../ir/program.js';
import type { Group } from '../../passes/groups/group.js';
import { trafficOf } from '../../passes/groups/traffic.js';
import type { ProgramPlan } from '../../passes/lower/main/plan.js';
import type { KernelStep, MainStep } from '../../passes/lower/main/steps.js';

/** Description of a kernel in terms of the program that it belongs to. */
export interface KernelLabel {
  /** Its operators, in order. */
  readonly name: string;
  /** The user's line of the operator that decides its loops; null where none was recorded. */
  readonly source: string | null;
  /** Inputs of captured code that it reads: names of parameters tell the layer. */
  readonly reads: readonly string[];
  /** Bytes that it moves when everything that it reads or writes goes through memory once; null for unknown ones. */
  readonly traffic: Dim | null;
}

/** The most operators in a name. */
const mostOperators = 8;

function labelOf(program: Program, group: Group, whole: Program): KernelLabel {
  const { members, anchors, reads } = group;
  const calls = members.flatMap((id) => {
    const node = program.node(id);
    return node.kind === 'call' ? [node] : [];
  });
  const [source = null] = anchors.flatMap((id) => {
    const node = program.node(id);
    return node.kind === 'call' && node.source !== undefined ? [node.source] : [];
  });
  const inputs = reads.flatMap(({ node: id }) => {
    const node = program.node(id);
    return node.kind === 'variable' ? [node.name] : [];
  });
  return {
    name: nameOf(calls.map(({ op }) => op.name)),
    source,
    reads: source === null || program !== whole ? [] : inputs,
    traffic: trafficOf(group),
  };
}

/** Label of all kernels of a program together. */
export function programLabel(program: Program): KernelLabel {
  const names = [...program.calls()].map(([, { op }]) => op.name);
  return { name: nameOf(names), source: null, reads: [], traffic: null };
}

function nameOf(operators: readonly string[]): string {
  const distinct = [...new Set(operators)];
  const left = distinct.length - mostOperators;
  const shown = distinct.slice(0, mostOperators).join(' + ');
  return left > 0 ? `${shown} + ${left} more` : shown;
}

const labels = new WeakMap<KernelStep, KernelLabel>();

/** Label of the kernel of a step of a program. */
export function labelOfStep(step: KernelStep, whole: Program): KernelLabel {
  let label = labels.get(step);
  if (label === undefined) {
    const { origin, kernel } = step;
    label =
      origin === undefined
        ? { name: kernel.kernel.name, source: null, reads: [], traffic: null }
        : labelOf(origin.program, origin.group, whole);
    labels.set(step, label);
  }
  return label;
}

/** Labels of all kernels of a marked plan, by the numbers of their steps. */
export function labelsOfSteps({
  program,
  marked,
}: Pick<ProgramPlan, 'program' | 'marked'>): ReadonlyMap<number, KernelLabel> {
  const found = new Map<number, KernelLabel>();
  const enter = (inner: readonly MainStep[]): void => {
    for (const step of inner) {
      switch (step.kind) {
        case 'kernel':
          found.set(step.step, labelOfStep(step, program));
          break;
        case 'bind':
          break;
        case 'foreach':
          enter(step.body);
          break;
        case 'while':
          enter(step.condition);
          enter(step.body);
          break;
        case 'branch':
          enter(step.consequent);
          enter(step.alternate);
          break;
        default:
          unreachable(step);
      }
    }
  };
  enter(marked);
  return found;
}

/** Bytes that a kernel moves for sizes; null where they do not decide it. */
export function bytesMoved({ traffic }: KernelLabel, names: DimBindings): number | null {
  if (traffic === null || typeof traffic === 'number') return traffic;
  return [...symbolsOf(traffic)].every((name) => names.has(name))
    ? evaluateDim(traffic, names)
    : null;
}
