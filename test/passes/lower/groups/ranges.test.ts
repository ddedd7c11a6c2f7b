import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesOf } from '../../../../src/base/dtype.js';
import type { CallNode, Program } from '../../../../src/ir/program.js';
import { cpuKernels, onCpu } from '../../../../src/kernels/cpu/index.js';
import { gpuTarget } from '../../../../src/kernels/gpu/index.js';
import { interpret } from '../../../../src/loop/interpret/interpret.js';
import { moduleOf } from '../../../../src/loop/language/build.js';
import { wasmTarget } from '../../../../src/loop/language/target.js';
import { kernelText } from '../../../../src/loop/language/text.js';
import { verifyKernel } from '../../../../src/loop/language/verify.js';
import { rangesIn } from '../../../../src/loop/language/verify-ranges.js';
import { declarationOf } from '../../../../src/ops/declare/facets.js';
import { byDefinition } from '../../../../src/kernels/definitions.js';
import type { DeviceTarget } from '../../../../src/ops/declare/kernels.js';
import { registry } from '../../../../src/ops/registry.js';
import { fuse } from '../../../../src/passes/fuse/fuse.js';
import type { Group } from '../../../../src/passes/groups/group.js';
import { BufferAssignment } from '../../../../src/passes/groups/places.js';
import { groupKernel } from '../../../../src/passes/lower/groups/group.js';
import type { LoweredKernel } from '../../../../src/passes/lower/nests/builder.js';
import { runPipeline } from '../../../../src/passes/pipeline.js';
import { schedule } from '../../../../src/passes/plan/schedule.js';
import { isExtents } from '../../../../src/passes/rewrite/measure.js';
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import {
  bindSizes,
  generator,
  type SampleCase,
  sampleCases,
  sampleOperands,
  sampleProgram,
} from '../../../support/samples.js';
import { dealt, settings } from '../../../support/settings.js';

/*
 * Kernels of all samples with the parallel ranges that they have for threads: run member by member, in several orders
 * and numbers, they give every bit of what one thread gives, and no two members store to one place.
 */

const alignment = 64;
const patterns = [0x5a, 0xa5] as const;

/** Memory for what a schedule reads and writes, and for what its kernels need of their own. */
class Machine {
  readonly program: Program;
  readonly places: BufferAssignment;
  bytes: Uint8Array;
  readonly #offsets: number[] = [];
  /** Where memory of one kernel begins. */
  #used = 0;

  constructor(program: Program, groups: readonly Group[], operands: readonly Operand[]) {
    this.program = program;
    this.places = new BufferAssignment(program, groups);
    for (const { dtype, length } of this.places.all) {
      this.#offsets.push(this.#take(bytesOf(dtype) * Number(length)));
    }
    this.bytes = new Uint8Array(this.#used);
    this.places.all.forEach(({ role }, place) => {
      if (role.kind === 'input') this.#put(place, operands[role.index].storage.host);
      if (role.kind === 'constant') this.#put(place, role.data.data);
    });
  }

  #take(bytes: number): number {
    const offset = this.#used;
    this.#used = Math.ceil((offset + bytes + 1) / alignment) * alignment;
    return offset;
  }

  #put(place: number, { buffer, byteOffset, byteLength }: ArrayBufferView): void {
    this.bytes.set(new Uint8Array(buffer, byteOffset, byteLength), this.#offsets[place]);
  }

  extentOf(place: number): readonly [begin: number, end: number] {
    const { dtype, length } = this.places.all[place];
    const begin = this.#offsets[place];
    return [begin, begin + bytesOf(dtype) * Number(length)];
  }

  /** The memory after members have run a kernel, each with private memory in which anything may lie. */
  run(
    { kernel, args }: LoweredKernel,
    order: readonly number[],
    count: number,
    from = this.bytes,
  ): Uint8Array {
    // prettier-ignore
    let size = from.length;
    const addresses = args.map((arg) => {
      if (arg.kind === 'place') return this.#offsets[arg.place];
      assert.equal(arg.kind, 'scratch');
      if (arg.kind !== 'scratch') return 0;
      const at = size;
      size = Math.ceil((at + bytesOf(arg.dtype) * Number(arg.length) + 1) / alignment) * alignment;
      return at;
    });
    const memory = new Uint8Array(size);
    memory.set(from);
    for (const index of order) {
      memory.fill(patterns[index % 2], from.length);
      interpret(moduleOf([kernel]), memory.buffer, kernel.name, addresses, { index, count });
    }
    return memory.slice(0, from.length);
  }

  /** The bytes of the places that a member alone stores to. */
  stored(
    kernel: LoweredKernel,
    places: readonly number[],
    index: number,
    count: number,
  ): Set<number> {
    // prettier-ignore
    const [first, second] = patterns.map((pattern) => {
      const memory = this.bytes.slice();
      for (const place of places) memory.fill(pattern, ...this.extentOf(place));
      return this.run(kernel, [index], count, memory);
    });
    const bytes = new Set<number>();
    for (const place of places) {
      const [begin, end] = this.extentOf(place);
      for (let at = begin; at < end; at++) if (first[at] === second[at]) bytes.add(at);
    }
    return bytes;
  }
}

function isKernel(program: Program, { anchors }: Group): boolean {
  const call = program.node(anchors[0]) as CallNode;
  const { kind } = declarationOf(call.op).lowering;
  return !isExtents(call) && ['point', 'reduce', 'kernel'].includes(kind);
}

const orders = settings.isLong
  ? [[0], [1, 0], [2, 0, 1], [0, 4, 1, 3, 2], [6, 5, 4, 3, 2, 1, 0]]
  : [[0], [1, 0], [0, 4, 1, 3, 2]];

/** How many kernels of a program have ranges. */
function check(sampleCase: SampleCase, size: number, target: DeviceTarget): number {
  const { sample, label } = sampleCase;
  const sizes = bindSizes(sample, () => size);
  const lowest = runPipeline(sampleProgram(sampleCase, { sizes }));
  const isStatic = [...lowest.graph.nodes()].every((id) =>
    lowest.results(id).every(({ type }) => type.shape.every((dim) => typeof dim === 'number')),
  );
  const groups = schedule(lowest, fuse(lowest));
  if (!isStatic || !groups.every((group) => isKernel(lowest, group))) return 0;
  const operands = sampleOperands(sample, sizes, generator(label.length));
  const machine = new Machine(lowest, groups, operands);
  let divided = 0;
  groups.forEach((group, k) => {
    const lower = (isDivided: boolean): LoweredKernel =>
      groupKernel(lowest, group, machine.places, `k${k}`, target, isDivided).lowered;
    const [single, ranged] = [lower(false), lower(true)];
    assert.equal(rangesIn(single.kernel.body).length, 0);
    const after = machine.run(single, [0], 1);
    if (rangesIn(ranged.kernel.body).length > 0) {
      divided++;
      assert.doesNotThrow(() => verifyKernel(ranged.kernel), kernelText(ranged.kernel));
      for (const order of orders) {
        const what = `${label}, size ${size}, ${target.name}, members ${order.join()}`;
        const found = machine.run(ranged, order, order.length);
        assert.equal(Buffer.compare(found, after), 0, what);
      }
      const written = group.writes.map((value) => machine.places.placeOf(value)!);
      const all = machine.stored(single, written, 0, 1);
      const members = [0, 1, 2].map((index) => machine.stored(ranged, written, index, 3));
      const total = members.reduce((sum, bytes) => sum + bytes.size, 0);
      assert.equal(total, all.size, `${label}, size ${size}: places that one member stores to`);
    }
    machine.bytes = after;
  });
  return divided;
}

function checkAll(cases: readonly SampleCase[], target: DeviceTarget, least: number): void {
  let divided = 0;
  dealt(cases).forEach((sampleCase, k) => {
    // By day samples take turns with the sizes.
    const sizes = settings.isLong ? [1, 18] : [k % 3 === 0 ? 1 : 18];
    for (const size of sizes) divided += check(sampleCase, size, target);
  });
  assert.ok(divided >= least / 2, `${divided} kernels are divided`);
}

test('members run the ranges of all samples in any order', () => {
  checkAll(sampleCases(registry.values()), onCpu(wasmTarget), 50);
});

test('members run the ranges of all samples for a grid in any order', () => {
  checkAll(sampleCases(registry.values()), gpuTarget, 100);
});

test('members run the ranges of definitions in any order', () => {
  const operators = [...cpuKernels.keys()].map(declarationOf);
  checkAll(sampleCases(operators), byDefinition(wasmTarget), 5);
});
