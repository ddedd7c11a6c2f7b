import { type Argument, allSteps, type FuzzProgram, mapSteps, readIn, type Ref, type Region, type Step } from './program.js'; // prettier-ignore
import type { Stage } from './shrink.js';

/*
 * Smaller control flow: a branch in place of both, an iteration in place of a loop, fewer rows, states
 * and outputs, plainer ways of handing them over.
 */

/** Makes control flow smaller, the outermost first. */
export const flatter: Stage = (program, accept, current) => {
  for (const { results } of allSteps(program.steps).toReversed()) {
    let isSmaller = true;
    while (isSmaller) {
      const step = allSteps(current().steps).find((one) => one.regions !== undefined && one.results.join() === results.join()); // prettier-ignore
      if (step === undefined) break;
      isSmaller = formsOf(step, current()).some((form) =>
        accept({
          ...current(),
          steps: mapSteps(current().steps, (one) => one.regions !== undefined && one.results.join() === results.join() ? form : [one]), // prettier-ignore
        }),
      );
    }
  }
};

type Form = readonly Step[];

function formsOf(step: Step, program: FuzzProgram): Form[] {
  const { regions = [], args, nesting } = step;
  const read = readIn(program);
  const plainer = nesting === 'list' ? [] : [[{ ...step, nesting: 'list' } as const]];
  if (step.op === 'cond') {
    const asked = args[0] === null ? [askedBefore(step)] : [];
    return [branch(step, 0), branch(step, 1), ...likeBranches(step), ...fewerOutputs(step, read), ...asked, ...plainer]; // prettier-ignore
  }
  const options = args.at(-1) as Record<string, Argument>;
  const withoutOptions = Object.keys(options).map((key) => {
    const { [key]: _, ...rest } = options;
    return [{ ...step, args: args.with(args.length - 1, rest) }];
  });
  if (step.op === 'push') return [...withoutOptions, ...plainer];
  const { states } = regions[0];
  return [
    firstIteration(step),
    ...fewerOutputs(step, read),
    ...states.map((_, k) => withoutState(step, k, read)).filter((form) => form !== null),
    ...(step.op === 'foreach' ? fewerRows(step) : []),
    ...withoutOptions,
    ...plainer,
  ];
}

function renamed(from: number, to: number): Step {
  return { op: 'identity', args: [{ ref: from }], results: [to] };
}

function branch({ regions = [], results }: Step, which: number): Form {
  const { steps, outputs } = regions[which];
  return [...steps, ...outputs.map((id, k) => renamed(id, results[k]))];
}

/** With what one of the branches does done before, and given by both. */
function likeBranches(step: Step): Form[] {
  const [first, second, ...asked] = step.regions!;
  if (first.outputs.join() === second.outputs.join()) return [];
  return [first, second].map(({ steps, outputs }) => {
    const plain = { params: [], steps: [], outputs, states: [] };
    return [...steps, { ...step, regions: [plain, plain, ...asked] }];
  });
}

/** With the function that gives the predicate called before. */
function askedBefore(step: Step): Form {
  const [first, second, asked] = step.regions!;
  const predicate = { ref: asked.outputs[0] };
  return [...asked.steps, { ...step, args: [predicate], regions: [first, second] }];
}

function firstIteration({ op, args, regions = [], results }: Step): Form {
  const [{ params, steps, outputs, states }] = regions;
  const data = op === 'foreach' ? (args[0] as readonly Ref[]) : [];
  const init = args[data.length > 0 ? 1 : 0] as readonly Ref[];
  return [
    ...data.map((ref, k): Step => ({ op: 'slice', args: [ref, 0], results: [params[k]] })),
    ...init.map(({ ref }, k) => renamed(ref, params[data.length + k])),
    ...steps,
    ...outputs.map((id, k): Step => ({ op: 'expandDims', args: [{ ref: id }, 0], results: [results[k]] })), // prettier-ignore
    ...states.map((id, k) => renamed(id, results[outputs.length + k])),
  ];
}

/** Without the outputs that nothing reads. */
function fewerOutputs(step: Step, read: ReadonlySet<number>): Form[] {
  const regions = step.regions!;
  return regions[0].outputs.flatMap((_, k) => {
    if (read.has(step.results[k]) || step.results.length === 1) return [];
    const givesOutputs = (at: number): boolean => step.op === 'cond' ? at < 2 : at < 1; // prettier-ignore
    const fewer = regions.map((region, at) => givesOutputs(at) ? { ...region, outputs: region.outputs.toSpliced(k, 1) } : region); // prettier-ignore
    return [[{ ...step, regions: fewer, results: step.results.toSpliced(k, 1) }]];
  });
}

/** With a state read from outside in every iteration. */
function withoutState(step: Step, k: number, read: ReadonlySet<number>): Form | null {
  const { args, regions = [], results } = step;
  const at = step.op === 'foreach' ? 1 : 0;
  const init = args[at] as readonly Ref[];
  const [{ outputs, states }] = regions;
  const result = outputs.length + k;
  if (read.has(results[result]) || results.length === 1) return null;
  const without = (region: Region): Region => {
    const param = region.params.length - states.length + k;
    return {
      ...region,
      params: region.params.toSpliced(param, 1),
      steps: [renamed(init[k].ref, region.params[param]), ...region.steps],
      states: region.states.toSpliced(k, 1),
    };
  };
  return [{ ...step, args: args.with(at, init.toSpliced(k, 1)), regions: regions.map(without), results: results.toSpliced(result, 1) }]; // prettier-ignore
}

/** With one of the arrays no longer iterated over: its first row is read in every iteration. */
function fewerRows(step: Step): Form[] {
  const data = step.args[0] as readonly Ref[];
  const [body] = step.regions!;
  if (data.length < 2) return [];
  return data.map((ref, k) => {
    const slice: Step = { op: 'slice', args: [ref, 0], results: [body.params[k]] };
    const less = { ...body, params: body.params.toSpliced(k, 1), steps: [slice, ...body.steps] };
    return [{ ...step, args: step.args.with(0, data.toSpliced(k, 1)), regions: [less] }];
  });
}
