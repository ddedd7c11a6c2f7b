import { symbol } from '../../../src/base/dim/index.js';
import { allocate, type DType, kindOf } from '../../../src/base/dtype.js';
import { type Element, readElement, writeElement } from '../../../src/base/element.js';
import { Program } from '../../../src/ir/program.js';
import type { SampleArray } from '../../../src/ops/declare/declare.js';
import type { Law, LawCase } from '../../../src/ops/declare/law.js';
import { registry } from '../../../src/ops/registry.js';
import { separate } from '../../../src/passes/fuse/fuse.js';
import { onCpu } from '../../../src/kernels/cpu/index.js';
import { lowerProgram } from '../../../src/passes/lower/main/plan.js';
import { cpu } from '../../../src/runtime/memory/device.js';
import { runnerFor } from '../../../src/runtime/execution/entry.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { Executor } from '../../../src/runtime/execution/executor.js';
import { Storage } from '../../../src/runtime/memory/storage.js';

/** A case of a law, in one dtype. */
export interface LawInstance {
  readonly lawCase: LawCase;
  readonly dtype: DType | undefined;
  readonly label: string;
}

export interface OperatorLaw {
  readonly op: string;
  readonly law: Law;
  readonly instances: readonly LawInstance[];
}

/** Every law of every operator, with each of its cases in each of its dtypes. */
export function operatorLaws(): OperatorLaw[] {
  return [...registry.values()].flatMap(({ name, simplify = [], viewed }) =>
    [...simplify, ...(viewed === undefined ? [] : [viewed])].map((law) => ({
      op: name,
      law,
      instances: law.cases.flatMap((lawCase, k) =>
        (lawCase.dtypes ?? [undefined]).map((dtype) => ({
          lawCase,
          dtype,
          label: `case ${k}${dtype === undefined ? '' : ` in ${dtype}`}`,
        })),
      ),
    })),
  );
}

/** The program of a case; named extents have a size, or stay symbols without one. */
export function caseProgram({ lawCase, dtype }: LawInstance, size?: number): Program {
  const program = new Program();
  const inputs = lawCase.arrays.map((array, i) =>
    program.variable(`x${i}`, {
      dtype: dtypeOf(array, dtype),
      shape: array.shape.map((extent) =>
        typeof extent === 'number' ? extent : (size ?? symbol(extent)),
      ),
    }),
  );
  program.setOutputs([{ name: 'y', value: lawCase.build(...inputs) }]);
  return program;
}

function dtypeOf(array: SampleArray, dtype: DType | undefined): DType {
  return array.dtype === 'bool' ? 'bool' : (dtype ?? array.dtype);
}

const specials: Readonly<Record<'float' | 'int' | 'bool', readonly Element[]>> = {
  float: [
    NaN, 0, -0, 1, -1, Infinity, -Infinity, 2 ** -149, -(2 ** -149), 2 ** -24, 1e-40, 0.1, -0.1, 2.5, -2.5,
    65504, 3.4e38, -3.4e38, 1 / 3, 16777217, 300.7, -300.7, 2 ** 31, -(2 ** 63),
  ],
  int: [0, 1, -1, 2, 127, -128, 128, 255, 2 ** 31 - 1, -(2 ** 31), -7, 100],
  bool: [false, true],
}; // prettier-ignore

const wide = [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n];

/** Arrays of the values on which careless algebra fails, in another order for every seed. */
export function specialOperands(
  { lawCase, dtype }: LawInstance,
  size: number,
  seed: number,
): Operand[] {
  return lawCase.arrays.map((array, k) => {
    const own = dtypeOf(array, dtype);
    const shape = array.shape.map((extent) => (typeof extent === 'number' ? extent : size));
    const length = shape.reduce((a, b) => a * b, 1);
    const data = allocate(own, length);
    const values: readonly Element[] =
      own === 'int64' ? [...specials.int, ...wide] : specials[kindOf(own)];
    // Steps that are coprime to the counts of values reach all of them.
    for (let i = 0; i < length; i++) {
      writeElement(own, data, i, values[(i * 5 + seed * 7 + k * (seed + 3)) % values.length]);
    }
    return { storage: new Storage(own, data), shape };
  });
}

/** Runs a program as it is: no pass touches it but the lowering, and the definition of loops runs it. */
export function runAsWritten(program: Program, inputs: readonly Operand[]): readonly Operand[] {
  const interpreter = runnerFor({ target: 'interpreter' });
  const plan = lowerProgram(program, separate(program), onCpu(interpreter.target));
  const executor = new Executor(program, plan, cpu, interpreter.entry(plan.module, cpu));
  const results = executor.run(inputs);
  executor.release();
  return results;
}

/** The elements as text that tells every bit apart but those of NaN. */
export function elementsOf({ storage }: Operand): string {
  const words = Array.from({ length: storage.length }, (_, i) => {
    const element = readElement(storage.dtype, storage.host, i);
    return Object.is(element, -0) ? '-0' : String(element);
  });
  return words.join(' ');
}
