import { symbolsOfTypes } from '../../../ir/bind.js';
import type { CallNode, Program } from '../../../ir/program.js';
import type { BufferAssignment } from '../../groups/places.js';
import type { Group } from '../../groups/group.js';
import type { BindStep } from './steps.js';

/** The step that reads the sizes which a group leaves in memory, and binds their symbols. */
export function bindStep(
  program: Program,
  { anchors: [id] }: Group,
  places: BufferAssignment,
  step: number,
): BindStep {
  const { decides } = program.node(id) as CallNode;
  const [sizes] = program.operands(id);
  const [{ type }] = program.results(id);
  const names = type.shape.map((dim) => [...symbolsOfTypes([{ ...type, shape: [dim] }])][0]);
  return {
    kind: 'bind',
    from: places.placeOf(sizes)!,
    isWide: sizes.type.dtype === 'int64',
    sizes: names.map(([name, bounds], k) => ({
      name,
      bounds,
      most: places.memory.bind(name, decides[k].most),
    })),
    step,
  };
}
