import type { Dim, DimExpr } from '../../base/dim.js';
import { symbolsOf } from '../../base/dim.js';
import { UnsupportedError } from '../../base/errors.js';
import { symbolsOfTypes } from '../../ir/bind.js';
import type { Program } from '../../ir/program.js';
import { moduleOf } from '../../loop/build.js';
import { liftConstants } from '../../loop/lift.js';
import type { Module } from '../../loop/nodes.js';
import { bytesOf } from '../../base/dtype.js';
import type { Group } from '../fuse.js';
import { type OutputSource, type Place, Places } from '../places.js';
import type { LoweredKernel } from './builder.js';
import { lowerGroup, mainKernel } from './group.js';
import { Signatures } from './signature.js';

/** A program as one module of kernels, and all that is needed to call its `main`. */
export interface Plan {
  readonly program: Program;
  readonly groups: readonly Group[];
  readonly module: Module;
  /** The table that `main` reads: first these sizes, then the addresses of all places. */
  readonly sizes: readonly DimExpr[];
  readonly places: readonly Place[];
  readonly outputs: readonly OutputSource[];
}

/**
 * Lowers the groups of a program, in the order in which they are to run. `replaced` gives, for outputs
 * that are to overwrite an input, the index of that input.
 */
export function lowerProgram(
  program: Program,
  groups: readonly Group[],
  vectorBytes: number,
  replaced: readonly (number | null)[] = [],
): Plan {
  const places = new Places(program, groups, replaced);
  const kernels: LoweredKernel[] = [];
  const lowered = lowerGroups(program, groups, places, vectorBytes, kernels);
  const sizes = new Map<string, { readonly entry: number; readonly dim: DimExpr }>();
  for (const { args } of lowered) {
    for (const arg of args) {
      if (arg.kind === 'size' && !sizes.has(arg.dim.key)) {
        sizes.set(arg.dim.key, { entry: sizes.size, dim: arg.dim });
      }
    }
  }
  const calls = lowered.map((kernel, step) => ({
    lowered: kernel,
    entries: kernel.args.map((arg) => {
      if (arg.kind === 'size') return sizes.get(arg.dim.key)!.entry;
      if (arg.kind === 'place') return sizes.size + arg.place;
      return sizes.size + places.addScratch(arg.name, arg.dtype, arg.length, step);
    }),
  }));
  const known = symbolsOfTypes(program.inputs.map(({ type }) => type));
  for (const { dim } of sizes.values()) refuseUnknown(dim, known);
  for (const { length } of places.all) refuseUnknown(length, known);
  return {
    program,
    groups,
    module: liftConstants(moduleOf([...kernels.map(({ kernel }) => kernel), mainKernel(calls)])),
    sizes: [...sizes.values()].map(({ dim }) => dim),
    places: places.all,
    outputs: program.outputs.map(({ value }) => places.outputSource(value)),
  };
}

/**
 * One kernel call for every group. Groups that do the same on other places, such as the layers of a
 * network, share one kernel; `kernels` receives the distinct ones.
 */
function lowerGroups(
  program: Program,
  groups: readonly Group[],
  places: Places,
  vectorBytes: number,
  kernels: LoweredKernel[],
): readonly LoweredKernel[] {
  const signatures = new Signatures(program, places);
  const known = new Map<
    string,
    { readonly kernel: LoweredKernel; readonly places: readonly number[] }
  >();
  return groups.map((group) => {
    const signature = signatures.of(group);
    const same = known.get(signature.key);
    if (same !== undefined) {
      const args = same.kernel.args.map((arg) =>
        arg.kind === 'place'
          ? { ...arg, place: signature.places[same.places.indexOf(arg.place)] }
          : arg,
      );
      return { kernel: same.kernel.kernel, args };
    }
    const kernel = lowerGroup(program, group, places, kernels.length, vectorBytes);
    known.set(signature.key, { kernel, places: signature.places });
    kernels.push(kernel);
    return kernel;
  });
}

function refuseUnknown(dim: Dim, known: ReadonlyMap<string, unknown>): void {
  if (typeof dim === 'number') return;
  for (const name of symbolsOf(dim)) {
    if (!known.has(name)) {
      throw new UnsupportedError('a size that only the data decides cannot be planned', {
        op: 'compile',
        expected: 'dimensions that follow from the shapes of the inputs',
        actual: `the dimension ${name}`,
      });
    }
  }
}

/** Bytes that a place takes, for a number of elements. */
export function placeBytes(place: Place, length: number): number {
  return bytesOf(place.dtype) * length;
}
