import type { CallNode, Program } from './program.js';

/** The calls of a program, those in regions behind the call that owns them. */
export function allCalls(program: Program): readonly CallNode[] {
  return [...program.calls()].flatMap(([, call]) => [call, ...call.regions.flatMap(allCalls)]);
}

/** A test of finished programs: true for those of which a call, or one of a region, is of a kind. */
export function someCall(isOne: (call: CallNode) => boolean): (program: Program) => boolean {
  const known = new WeakMap<Program, boolean>();
  const holds = (program: Program): boolean => {
    let found = known.get(program);
    if (found === undefined) {
      found = [...program.calls()].some(([, call]) => isOne(call) || call.regions.some(holds));
      known.set(program, found);
    }
    return found;
  };
  return holds;
}

/** True when a size is known only when data has been computed. */
export function decidesSizes(program: Program): boolean {
  return allCalls(program).some(({ decides }) => decides.length > 0);
}
