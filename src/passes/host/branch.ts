import type { Program } from '../../ir/program.js';
import type { CallNode } from '../../ir/program.js';
import type { RoutineBuilder } from './routine.js';
import type { HostStatementOf, HostStatement, HostResult, Stretch } from './statements.js';

/** A branch: the first region where the predicate holds, else the second. */
export function branch(
  builder: RoutineBuilder,
  call: CallNode,
  [predicate, ...operands]: readonly Stretch[],
): readonly Stretch[] {
  const flag = builder.name('flag');
  builder.emit({ kind: 'load', name: flag.key, from: predicate, dtype: 'bool' });
  const results: HostResult[] = [];
  const made = call.types.map(({ dtype, shape }): Stretch => {
    const of = builder.handle(dtype);
    const names = shape.map((dim) => (builder.isKnown(dim) ? null : builder.name('extent')));
    results.push({ kind: 'own', as: of, extents: names.map((name) => name?.key ?? null) });
    return { of, shape: shape.map((dim, axis) => names[axis] ?? dim) };
  });
  const side = (program: Program, where: string): HostStatementOf<'call'> => {
    const callee = { program, kind: 'region', isOptional: true } as const;
    return { kind: 'call', callee, operands, results, site: { where: [where], call } };
  };
  const [first, second] = call.regions;
  const choice: HostStatement = {
    kind: 'choose',
    when: { relation: '=', dim: flag },
    consequent: [side(second, 'second branch')],
    alternate: [side(first, 'first branch')],
  };
  builder.emit(choice);
  return made;
}
