import { substituteDim, symbolsOf } from '../../base/dim/index.js';
import { bindProgram } from '../../ir/bind.js';
import type { CallNode, Program } from '../../ir/program.js';
import { refusalAt, speaksOnlyOf } from '../../ir/requirement.js';
import { sizesPassedBy } from '../../ops/declare/facets.js';
import type { RoutineBuilder } from './routine.js';
import type { HostStatement, HostResult, Stretch } from './statements.js';

/** A branch: the first region where the predicate holds, else the second. */
export function branch(
  builder: RoutineBuilder,
  call: CallNode,
  [predicate, ...operands]: readonly Stretch[],
): readonly Stretch[] {
  const flag = builder.name('flag');
  builder.emit({ kind: 'load', name: flag.key, from: predicate, dtype: 'bool' });
  const results: HostResult[] = [];
  const made = call.types.map(({ dtype, shape }, k): Stretch => {
    const of = builder.handle(dtype);
    // A size that a side decides may be known: it is found again, and compared.
    const isDecided = (axis: number): boolean =>
      call.regions.some(({ outputs, decidedSizes }) =>
        [...symbolsOf(outputs[k].value.type.shape[axis])].some((name) => decidedSizes.has(name)),
      );
    const names = shape.map((dim, axis) =>
      isDecided(axis) || !builder.isKnown(dim) ? builder.name('extent') : null,
    );
    results.push({ kind: 'own', as: of, extents: names.map((name) => name?.key ?? null) });
    return { of, shape: shape.map((dim, axis) => names[axis] ?? dim) };
  });
  const sizes = sizesPassedBy(call);
  const side = (program: Program, where: string): readonly HostStatement[] => {
    const callee = { program, kind: 'region', isOptional: true } as const;
    const site = { where: [where], call };
    return [...required(program), { kind: 'call', callee, operands, sizes, results, site }];
  };
  const required = (program: Program): readonly HostStatement[] => {
    const types = operands.map(({ of: { dtype }, shape }) => ({ dtype, shape }));
    const dims = bindProgram(program, types, sizes);
    return program.requirements.flatMap((requirement): readonly HostStatement[] => {
      // A branch itself checks sizes that its data decides.
      if (!speaksOnlyOf(requirement, dims)) return [];
      const { condition, ...refusal } = requirement;
      const test = { dim: substituteDim(condition.dim, dims), relation: condition.relation };
      return [{ kind: 'require', test, refusal: refusalAt(refusal, dims) }];
    });
  };
  const [first, second] = call.regions;
  const choice: HostStatement = {
    kind: 'choose',
    when: { relation: '=', dim: flag },
    consequent: side(second, 'second branch'),
    alternate: side(first, 'first branch'),
  };
  builder.emit(choice);
  return made;
}
