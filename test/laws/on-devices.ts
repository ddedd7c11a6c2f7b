import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KaonError } from '../../src/base/errors.js';
import type { Program } from '../../src/ir/program.js';
import { refuseElements } from '../../src/ops/declare/check.js';
import { declarationOf } from '../../src/ops/declare/facets.js';
import { registry } from '../../src/ops/registry.js';
import { compile } from '../../src/runtime/compile/compile.js';
import { DeviceExecutable } from '../../src/runtime/device/executable.js';
import type { DeviceQueue } from '../../src/runtime/device/queue.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { Storage } from '../../src/runtime/memory/storage.js';
import {
  bindSizes,
  generator,
  type SampleCase,
  sampleCases,
  sampleOperands,
  sampleProgram,
} from '../support/samples.js';
import { dealt } from '../support/settings.js';
import { differenceOf, marginsOf } from './margins.js';

/** Sizes of nothing, of one, and of what no team divides evenly. */
const choices = [0, 1, 3, 5];

function there(queue: DeviceQueue, { storage, shape }: Operand): Operand {
  return queue.has(storage.dtype)
    ? { storage: storage.onBackend(queue), shape }
    : { storage, shape };
}

async function here(result: Operand): Promise<Operand> {
  const { storage } = result;
  const elements = await storage.read();
  // A shape that the data decides is known from here on.
  return { storage: new Storage(storage.dtype, elements), shape: result.shape };
}

/** With 0 in the place of subnormal numbers of float32, for which GPUs may take them (decision 74). */
function withoutSubnormals({ storage, shape }: Operand): Operand {
  if (storage.dtype !== 'float32') return { storage, shape };
  const elements = Float32Array.from(storage.host as Float32Array, (x) =>
    x !== 0 && Math.abs(x) < 2 ** -126 ? (x < 0 ? -0 : 0) : x,
  );
  return { storage: new Storage('float32', elements), shape };
}

/** True if the call of a sample refuses elements of its operands. */
function isRefused(program: Program, operands: readonly Operand[]): boolean {
  return [...program.graph.nodes()].some((id) => {
    const call = program.node(id);
    if (call.kind !== 'call') return false;
    const { check } = declarationOf(call.op);
    const given = program.operands(id);
    const k = check === undefined ? -1 : program.inputs.indexOf(given[check.operand]);
    if (k < 0) return false;
    try {
      refuseElements(check!, operands[k].storage.host, given.map(({ type }) => type), call.attributes); // prettier-ignore
      return false;
    } catch (error) {
      assert.ok(error instanceof KaonError);
      return true;
    }
  });
}

/** Extents from which on workgroups of several sizes work, each beside small ones. */
const longExtents = [67, 1030];

/** Sizes for the named extents of a sample: one of them is long, in turn, or all are longer than half a tile. */
function longSizes({ declaration, sample }: SampleCase): readonly ReadonlyMap<string, number>[] {
  const names = [...bindSizes(sample, () => 1).keys()];
  // Windows multiply what there is to compute.
  if (declaration.name.startsWith('conv')) return [bindSizes(sample, () => 19)];
  const extentsOf = (k: number): readonly number[] =>
    names.length < 2 ? longExtents : [longExtents[k % longExtents.length]];
  const long = names.flatMap((name, k) =>
    extentsOf(k).map((extent) => bindSizes(sample, (other) => (other === name ? extent : 3))),
  );
  return names.length < 2 ? long : [...long, bindSizes(sample, () => 37)];
}

/** Small sizes, and what no team divides evenly. */
function smallSizes(
  { sample }: SampleCase,
  random: () => number,
): readonly ReadonlyMap<string, number>[] {
  // prettier-ignore
  return choices.map((base) =>
    bindSizes(sample, () => (base < 2 ? base : choices[Math.floor(random() * choices.length)])),
  );
}

/**
 * True for an operator that workgroups compute. Products of so many factors leave the range of float32; attention has
 * tests of its own, since its heads are not that wide.
 */
function isGrouped({ name, family }: SampleCase['declaration']): boolean {
  if (family === 'contraction') return name === 'matmul' || name.startsWith('conv');
  if (family !== 'reduction' && family !== 'normalization') return false;
  return !['prod', 'cumprod'].includes(name) && !name.startsWith('attention');
}

/**
 * Tests that operators compute on devices what they compute on the CPU, for sizes that are worth a workgroup.
 * @param mayFlush True for GPUs, which may take subnormal numbers for 0.
 */
export function testWorkgroupsOnDevices(
  queues: readonly DeviceQueue[],
  skip: string | false = false,
  mayFlush: boolean = false,
): void {
  const cases = sampleCases(registry.values()).filter(({ declaration }) => isGrouped(declaration));
  testCases(queues, skip, cases, 'workgroups compute what the CPU does', longSizes, mayFlush);
}

/** Tests that each operator computes on devices what it computes on the CPU; `mayFlush` as above. */
export function testOnDevices(
  queues: readonly DeviceQueue[],
  skip: string | false = false,
  mayFlush: boolean = false,
): void {
  const cases = sampleCases(registry.values());
  testCases(queues, skip, cases, 'a device computes what the CPU does', smallSizes, mayFlush);
}

function testCases(
  queues: readonly DeviceQueue[],
  skip: string | false,
  cases: readonly SampleCase[],
  law: string,
  sizesOf: (sampleCase: SampleCase, random: () => number) => readonly ReadonlyMap<string, number>[],
  mayFlush: boolean,
): void {
  for (const sampleCase of dealt(cases)) {
    const { sample, label } = sampleCase;

    test(`${label}: ${law}`, { skip }, async () => {
      const random = generator(label.length + sample.args.length);
      for (const sizes of sizesOf(sampleCase, random)) {
        const program = sampleProgram(sampleCase, { sizes });
        const operands = sampleOperands(sample, sizes, random);
        const expected = compile(program, { tier: 'wasm' }).run(operands);
        const margins = marginsOf(sampleCase, program, operands);
        for (const queue of queues) {
          const executable = new DeviceExecutable(program, queue, 'islands');
          const given = operands.map((operand) => there(queue, operand));
          if (isRefused(program, operands)) {
            // At once, or by whoever reads what was made of the elements.
            await assert.rejects(async () => executable.run(given)[0].storage.read(), KaonError);
            continue;
          }
          const results = executable.run(given);
          for (const [k, result] of results.entries()) {
            const found = await here(result);
            const differenceIn = (map: (each: Operand) => Operand): string | null =>
              differenceOf(map(found), map(expected[k]), margins[k]);
            const difference = differenceIn((each) => each);
            const remains =
              mayFlush && difference !== null ? differenceIn(withoutSubnormals) : difference;
            assert.equal(remains, null, `sizes ${JSON.stringify([...sizes])}`);
          }
          await queue.synchronize();
          executable.release();
        }
        if (sizes.size === 0) break;
      }
    });
  }
}
