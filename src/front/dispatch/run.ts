import { InternalError, named } from '../../base/errors.js';
import { refuseElements } from '../../ops/declare/check.js';
import { type ArrayType, resultType } from '../core/array-type.js';
import { NDArray } from '../core/ndarray.js';
import { mode } from '../core/mode.js';
import type { StateLog } from '../core/state-log.js';
import type { Operation } from '../core/operation.js';
import { Program } from '../../ir/program.js';
import { mayCheck } from '../../passes/simplify/checks.js';
import { compile } from '../../runtime/compile/compile.js';
import { ElementChecks } from './element-checks.js';
import { profiling, type Recorder } from '../../runtime/profile/recorder.js';
import { planFor } from './plan.js';

/** Runs an operator now. Lazy operands are computed first. */
export function runNow(operation: Operation, operands: readonly NDArray[]): readonly NDArray[] {
  try {
    return profiling.recorder === null
      ? run(operation, operands)
      : runRecorded(profiling.recorder, operation, operands);
  } catch (error) {
    throw named(error, operation.declaration.name);
  }
}

/** Runs a captured call by itself. Loops and branches may refuse elements, which only a program around one reports. */
export function runChecked(operation: Operation, operands: readonly NDArray[]): readonly NDArray[] {
  const { declaration, attributes, regions } = operation;
  // Other devices look themselves.
  const isHere = operands.every((operand) => operand.computed().storage.backend === null);
  if (!isHere || !regions.some(mayCheck)) return runNow(operation, operands);
  const program = new Program();
  const inputs = operands.map((operand, i) => program.variable(`x${i}`, operand.computed().type));
  const values = program.append(declaration, inputs, attributes, { regions });
  program.setOutputs(values.map((value, i) => ({ name: `y${i}`, value })));
  const checks = new ElementChecks(program);
  checks.run(operands);
  const results = checks.look(() => compile(checks.program).run(operands), operands);
  return results.map((result) => new NDArray(resultType(undefined, result), result.storage));
}

function run(operation: Operation, operands: readonly NDArray[]): readonly NDArray[] {
  const types: ArrayType[] = [];
  // A computed array's type is always interned.
  for (const operand of operands) types.push(operand.computed().type as ArrayType);
  if (mode.stateLog !== null) noteState(mode.stateLog, operands);
  const { declaration, attributes } = operation;
  const plan = planFor(operation, types);
  if (declaration.check !== undefined) {
    const { check } = declaration;
    const { storage } = operands[check.operand];
    // Other devices look themselves, since the answer may have to be waited for.
    if (storage.backend === null) refuseElements(check, storage.host, types, attributes);
  }
  if (plan.executable === null) {
    if (plan.types === null) throw new InternalError('a view whose size the data decides');
    return [new NDArray(plan.types[0], operands[0].held)];
  }
  const results = plan.executable.run(operands, undefined, plan.sizes);
  const arrays: NDArray[] = [];
  for (let i = 0; i < results.length; i++) {
    const { storage } = results[i];
    const type = plan.types === null ? resultType(undefined, results[i]) : plan.types[i];
    mode.scratch?.note(storage);
    arrays.push(new NDArray(type, storage));
  }
  return arrays;
}

function runRecorded(
  recorder: Recorder,
  operation: Operation,
  operands: readonly NDArray[],
): readonly NDArray[] {
  const begin = recorder.now;
  const results = run(operation, operands);
  const { name, lowering } = operation.declaration;
  recorder.host('operator', lowering.kind === 'inline' ? 'captured code' : name, begin);
  return results;
}

function noteState(log: StateLog, operands: readonly NDArray[]): void {
  for (const operand of operands) if (operand.gradient?.req === 'null') log.note(operand);
}
