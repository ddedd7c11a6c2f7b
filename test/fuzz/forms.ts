import { isFloat } from '../../src/base/dtype.js';
import type { NDArray } from '../../src/index.js';
import { registry } from '../../src/ops/registry.js';
import { allSteps, type Ref, refsOf, type Step } from './program.js';
import { isSum } from './sums.js';

/** What control flow there has to be among some programs. */
export const wantedForms: readonly string[] = [
  'foreach over no rows', 'foreach over one row', 'foreach over rows', 'whileLoop of no iterations', 'whileLoop of iterations',
  'padded', 'limited', 'save all', 'save none', 'save auto', 'no states', 'no outputs', 'sums of floats', 'predicate by a function',
  'state written inside', 'numbers drawn inside', 'sizes decided inside', 'rows of sizes decided inside', 'three bodies deep',
  'rows from the last to the first', 'pushes of rows', 'pushes of several rows', 'some of what was selected', 'distinct elements of what was selected',
]; // prettier-ignore

/** What there is of it in a step; nothing where it is none. */
export function formsOf(step: Step, values: ReadonlyMap<number, NDArray>): string[] {
  const { op, args, regions, results } = step;
  if (regions === undefined) return [];
  const inside = allSteps(regions.flatMap((region) => region.steps));
  const [{ outputs, states }] = regions;
  const forms = [
    ...(inside.some((one) => one.op === 'assign') ? ['state written inside'] : []),
    ...(inside.some((one) => /^random|dropout/.test(one.op)) ? ['numbers drawn inside'] : []),
    ...(inside.some(isDeciding) ? ['sizes decided inside'] : []),
    ...(depthOf(step) === 3 ? ['three bodies deep'] : []),
  ];
  if (op === 'cond') return [...forms, ...(args[0] === null ? ['predicate by a function'] : [])];
  if (op === 'push') return [...forms, (args.at(-1) as { readonly isEach: boolean }).isEach ? 'pushes of several rows' : 'pushes of rows']; // prettier-ignore
  const isDecided = (id: number): boolean =>
    regions[0].steps.some((one) => one.results.includes(id) && isDeciding(one));
  if (outputs.some(isDecided)) forms.push('rows of sizes decided inside');
  const { save, padded, maxIterations, reverse } = args.at(-1) as Readonly<Record<string, unknown>>;
  forms.push(`save ${String(save)}`);
  if (padded === true) forms.push('padded');
  if (reverse === true) forms.push('rows from the last to the first');
  if (maxIterations !== undefined) forms.push('limited');
  if (states.length === 0) forms.push('no states');
  if (outputs.length === 0) forms.push('no outputs');
  const isFloatSum = (k: number): boolean =>
    isFloat(values.get(results[outputs.length + k])!.dtype) && isSum(step, k);
  if (states.some((_, k) => isFloatSum(k))) forms.push('sums of floats');
  const [first] = args[0] as readonly Ref[];
  const count = op === 'foreach' ? values.get(first.ref)?.shape[0] : values.get(results.at(-1)!)?.item(); // prettier-ignore
  if (op === 'foreach')
    forms.push(`foreach over ${['no rows', 'one row'][Number(count)] ?? 'rows'}`);
  else forms.push(`whileLoop of ${Number(count) === 0 ? 'no iterations' : 'iterations'}`);
  return forms;
}

/** What a program makes of what data has selected. */
export function selectionsIn(program: readonly Step[]): string[] {
  const steps = allSteps(program);
  const selected = new Set(
    steps.flatMap(({ op, results }) => (op === 'booleanMask' ? results : [])),
  );
  const isOf = (step: Step, op: string): boolean =>
    step.op === op && refsOf(step).some((id) => selected.has(id));
  return [
    ...(steps.some((step) => isOf(step, 'booleanMask')) ? ['some of what was selected'] : []),
    ...(steps.some((step) => isOf(step, 'unique'))
      ? ['distinct elements of what was selected']
      : []),
  ];
}

function isDeciding({ op }: Step): boolean {
  return registry.get(op)?.measure !== undefined;
}

function depthOf({ regions = [] }: Step): number {
  const inside = regions.flatMap(({ steps }) => steps.map((step) => depthOf(step)));
  return regions.length === 0 ? 0 : 1 + Math.max(0, ...inside);
}
