import type { DType, HostArray } from '../../base/dtype.js';
import { ArgumentError } from '../../base/errors.js';
import { describe } from '../../base/attributes/attribute.js';
import type { Program } from '../../ir/program.js';
import type { CallSelector } from '../../passes/host/select.js';

/** Elements that go to an engine and come from it, row-major; not to be written to. */
export interface EngineArray {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /**
   * The typed array of the dtype, such as `Float32Array`; 16-bit floats are bits in a `Uint16Array`. Of parameters it
   * is the same object from run to run while they are unchanged, so that what an engine makes of it may be kept.
   */
  readonly data: HostArray;
}

/** Runs a sub-graph: an array for each of its inputs, in order, to one for each of its outputs. */
export type EngineRun = (
  inputs: readonly EngineArray[],
) => readonly EngineArray[] | Promise<readonly EngineArray[]>;

/** A computer of sub-graphs beside this library. */
export interface ExternalEngine extends CallSelector {
  readonly name: string;
  /** Code of a sub-graph. Each is compiled once. */
  compile(program: Program): EngineRun | Promise<EngineRun>;
}

const engines = new Map<string, ExternalEngine>();

/** Makes an engine known by its name, in the place of the one that had the name before. */
export function registerEngine(engine: ExternalEngine): void {
  engines.set(engine.name, engine);
}

/**
 * The engine of a name.
 * @throws ArgumentError where there is none.
 */
export function engineNamed(name: string, op: string): ExternalEngine {
  const engine = engines.get(name);
  if (engine !== undefined) return engine;
  throw new ArgumentError('there is no such backend', {
    op,
    expected: [...engines.keys()].join(', ') || 'a backend that has been registered',
    actual: describe(name),
    advice: 'register it first: registerBackend({ name, supports, compile })',
  });
}
