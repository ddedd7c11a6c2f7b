import type { Buffer, Kernel } from '../../../loop/language/nodes.js';
import { visitStmts } from '../../../loop/language/visit.js';
import type { LoweredKernel } from '../nests/builder.js';
import type { Touch } from './hazards.js';
import type { MainStep } from './steps.js';

/** The buffers that a location may lie in. */
type PlacesOf = (location: number) => readonly number[];

/** True when threads divide the work of a step, or of a nested step. */
export function isDivided(step: MainStep): boolean {
  switch (step.kind) {
    case 'kernel':
      return step.kernel.grains !== null;
    case 'bind':
      return false;
    case 'foreach':
      return step.body.some(isDivided);
    case 'while':
      return step.condition.some(isDivided) || step.body.some(isDivided);
    case 'branch':
      return step.consequent.some(isDivided) || step.alternate.some(isDivided);
  }
}

/** Accesses of a kernel at a step. */
export function kernelTouches(
  { kernel, args, grains }: LoweredKernel,
  step: number,
  placesOf: PlacesOf,
): readonly Touch[] {
  const written = writtenBuffers(kernel);
  const everyone = grains !== null;
  return args.flatMap((arg, k): readonly Touch[] => {
    const param = kernel.params[k];
    if (arg.kind === 'scratch' || arg.kind === 'kept')
      return [{ place: null, writes: true, everyone, step }];
    if (arg.kind !== 'place' || param.kind !== 'buffer') return [];
    const touch = { everyone, step };
    return placesOf(arg.place).flatMap((place) => [
      { ...touch, place, writes: false },
      ...(written.has(param) ? [{ ...touch, place, writes: true }] : []),
    ]);
  });
}

/** A read or a write of a location. */
export function touchesOf(
  location: number,
  how: Omit<Touch, 'place'>,
  placesOf: PlacesOf,
): readonly Touch[] {
  return placesOf(location).map((place) => ({ ...how, place }));
}

/** Accesses of the first thread that runs a step, with its nested steps, alone. */
export function touchesInside(step: MainStep, placesOf: PlacesOf): readonly Touch[] {
  const all = (steps: readonly MainStep[]): readonly Touch[] =>
    steps.flatMap((inner) => touchesInside(inner, placesOf));
  const read = (location: number, at: number): readonly Touch[] =>
    touchesOf(location, { writes: false, everyone: false, step: at }, placesOf);
  const write = (location: number, at: number): readonly Touch[] =>
    touchesOf(location, { writes: true, everyone: false, step: at }, placesOf);
  switch (step.kind) {
    case 'kernel':
      return kernelTouches(step.kernel, step.step, placesOf);
    case 'bind':
      return read(step.from, step.step);
    case 'branch':
      return [
        ...read(step.predicate, step.span.first),
        ...all(step.consequent),
        ...all(step.alternate),
      ];
    case 'foreach':
      return [
        ...(step.count === null ? [] : read(step.count, step.span.first)),
        ...all(step.body),
        ...step.paddings.flatMap(({ location }) => write(location, step.span.last)),
      ];
    case 'while':
      return [
        ...all(step.condition),
        ...read(step.predicate, step.span.first),
        ...all(step.body),
        ...step.paddings.flatMap(({ location }) => write(location, step.span.last)),
        ...(step.iterations === undefined ? [] : write(step.iterations, step.span.last)),
      ];
  }
}

const known = new WeakMap<Kernel, ReadonlySet<Buffer>>();

/** The parameters that a kernel stores to. */
export function writtenBuffers(kernel: Kernel): ReadonlySet<Buffer> {
  let written = known.get(kernel);
  if (written === undefined) {
    const found = new Set<Buffer>();
    visitStmts(kernel.body, (stmt) => {
      if (stmt.kind === 'store') found.add(stmt.buffer);
    });
    known.set(kernel, (written = found));
  }
  return written;
}
