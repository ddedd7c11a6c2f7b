import { CallLabels } from '../../../ir/call-labels.js';
import type { CallNode, Program } from '../../../ir/program.js';
import type { DeviceTarget } from '../../../ops/declare/kernels.js';
import type { Division } from '../../../ops/nests/cost.js';
import type { Group } from '../../groups/group.js';
import type { BufferAssignment } from '../../groups/places.js';
import type { KernelArgument, LoweredKernel } from '../nests/builder.js';
import { type KernelSignature, KernelSignatures } from '../nests/signature.js';
import {
  type GroupContext,
  locationsRead,
  type PackedLifetime,
  packedLifetime,
  packedOperand,
} from '../nests/steady.js';
import { type FamilyKernel, KernelFamily } from './family.js';
import { generalizedGroup } from './generalized-group.js';
import { lowerGroup } from './group.js';

/** Period for which kernels may keep something: a step, a run of the program, or many in the same memory. */
export type ProgramLifetime = 'step' | 'once' | 'many runs';

/** A group for which a kernel is wanted. */
interface Request {
  readonly group: Group;
  readonly signature: KernelSignature;
  readonly steady: PackedLifetime | null;
}

/**
 * The kernels of groups. Groups that do the same on other places, such as the layers of a network, share one kernel, and
 * so do groups that differ in sizes, if the device has a schedule that says by what its loops are chosen.
 */
export class Kernels {
  readonly #all: Set<LoweredKernel['kernel']> = new Set();
  readonly #target: DeviceTarget;
  readonly #division: Division;
  readonly #lifetime: ProgramLifetime;
  readonly #labels: CallLabels = new CallLabels();
  readonly #signatures: Map<BufferAssignment, KernelSignatures> = new Map();
  readonly #known: Map<string, FamilyKernel> = new Map();

  constructor(target: DeviceTarget, division: Division, lifetime: ProgramLifetime) {
    this.#target = target;
    this.#division = division;
    this.#lifetime = lifetime;
  }

  /** The kernels that have been made, each once. */
  get all(): readonly LoweredKernel['kernel'][] {
    return [...this.#all];
  }

  /** The kernels of groups that stand beside each other in a program. */
  lower(
    program: Program,
    groups: readonly Group[],
    places: BufferAssignment,
    around: GroupContext,
  ): readonly LoweredKernel[] {
    let signatures = this.#signatures.get(places);
    if (signatures === undefined) {
      signatures = new KernelSignatures(program, places, this.#labels);
      this.#signatures.set(places, signatures);
    }
    const requests = groups.map((group): Request => {
      const steady = this.#steadiness(program, group, places, around);
      return { group, steady, signature: signatures.of(group, steady?.kind) };
    });
    const families = this.#familiesOf(program, requests);
    return requests.map((request) => {
      const { signature, steady } = request;
      let made = this.#known.get(signature.key);
      if (made === undefined) {
        made = this.#make(program, request, places, families.get(signature.pattern));
        this.#known.set(signature.key, made);
        this.#all.add(made.kernel.kernel);
      }
      return at(made, signature.places, steady);
    });
  }

  #make(
    program: Program,
    { group, signature, steady }: Request,
    places: BufferAssignment,
    family: KernelFamily | undefined,
  ): FamilyKernel {
    const target = this.#target;
    const division = this.#division;
    const number = this.#all.size;
    const shared = family?.kernelFor(signature, (dims, choices) => {
      const general = generalizedGroup(program, group, signature, places, dims);
      return lowerGroup(general.program, general.group, general.placement, number, target, division, steady, choices); // prettier-ignore
    });
    if (shared !== undefined && shared !== null) return shared;
    const kernel = lowerGroup(program, group, places, number, target, division, steady);
    return { kernel, places: signature.places };
  }

  /** By pattern, the groups that may share a kernel though they differ in sizes. */
  #familiesOf(program: Program, requests: readonly Request[]): ReadonlyMap<string, KernelFamily> {
    const members = new Map<string, Map<string, KernelSignature>>();
    for (const { group, signature } of requests) {
      if (this.#known.has(signature.key) || !this.#choosesBySizes(program, group)) continue;
      let alike = members.get(signature.pattern);
      if (alike === undefined) members.set(signature.pattern, (alike = new Map()));
      alike.set(signature.key, signature);
    }
    const families = new Map<string, KernelFamily>();
    for (const [pattern, alike] of members) {
      if (alike.size > 1) families.set(pattern, new KernelFamily([...alike.values()]));
    }
    return families;
  }

  #choosesBySizes(program: Program, { anchors: [anchor] }: Group): boolean {
    const { op } = program.node(anchor) as CallNode;
    return this.#target.choosesBySizes?.has(op) === true;
  }

  /** Lifetime of the operand that a kernel may keep packed; null where it may not. */
  #steadiness(
    program: Program,
    group: Group,
    places: BufferAssignment,
    around: GroupContext,
  ): PackedLifetime | null {
    if (this.#lifetime === 'step') return null;
    const operand = packedOperand(program, group, this.#target);
    if (operand === null) return null;
    const locations = locationsRead(program, group.members, places, operand);
    const steady = packedLifetime(places.memory, locations, around);
    return steady?.kind === 'runs' && this.#lifetime === 'once' ? null : steady;
  }
}

/** A kernel at the places of another group. */
function at(
  { kernel, places: own }: FamilyKernel,
  places: readonly number[],
  steady: PackedLifetime | null,
): LoweredKernel {
  if (own === places) return kernel;
  const args = kernel.args.map((arg): KernelArgument => {
    if (arg.kind === 'kept') return { ...arg, steady: steady! };
    return arg.kind === 'place' ? { ...arg, place: places[own.indexOf(arg.place)] } : arg;
  });
  return { ...kernel, args };
}
