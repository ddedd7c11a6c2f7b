import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFloat } from '../../../../src/base/dtype.js';
import { readElement } from '../../../../src/base/element.js';
import { UnsupportedError } from '../../../../src/base/errors.js';
import { exportProgram, opsets } from '../../../../src/formats/onnx/export/export.js';
import { loadProtobuf } from '../../../../src/formats/onnx/proto/library.js';
import { structureKey, structureText } from '../../../../src/formats/onnx/structure.js';
import { symbolsOfTypes } from '../../../../src/ir/bind.js';
import { importModel } from '../../../../src/formats/onnx/import/import-model.js';
import type { Program } from '../../../../src/ir/program.js';
import { registry } from '../../../../src/ops/registry.js';
import { compile, evaluateConstant } from '../../../../src/runtime/compile/compile.js';
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import {
  bindSizes,
  generator,
  type SampleCase,
  sampleCases,
  sampleOperands,
  sampleProgram,
} from '../../../support/samples.js';

await loadProtobuf();

/*
 * Every sample of every operator, written as a model at known and at symbolic sizes, gives after it has been
 * read again what the operator gives.
 */

/** What cannot be written at all, and why. */
const refused: ReadonlyMap<string, string> = new Map([
  ['keptBoxes', 'is a part of non-maximum suppression, which ONNX has as a whole only'],
  ['nonMaxSuppression', 'compares boxes of float32 only in ONNX'],
]);

/** Before this version, ONNX has no operators for the bits of integers. */
const bitwise = 18;

function modelOf(program: Program, opset: number): Uint8Array {
  const outputs = program.outputs.map(({ name }) => name);
  const symbols = symbolsOfTypes(program.inputs.map(({ type }) => type));
  // Without it, floats that the model holds would be parameters when it is read.
  const structure = structureText({ reads: [], outputs, symbols });
  return exportProgram({
    program,
    outputs,
    stored: new Map(),
    defaults: new Set(),
    metadata: new Map([[structureKey, structure]]),
    opset,
    file: null,
    omitsChecks: true,
  });
}

function readBack(bytes: Uint8Array): Program {
  return importModel(bytes, { external: null, evaluate: evaluateConstant, inputs: new Map() })
    .program;
}

const tolerances = { float64: 1e-12, float32: 2e-6, float16: 2e-3, bfloat16: 2e-2 };

/** Exactly equal, or equal up to rounding where elements are floats; 0 and -0 are one number. */
function assertAlike(actual: Operand, expected: Operand, where: string): void {
  const { dtype, host } = expected.storage;
  assert.deepEqual(actual.shape, expected.shape, where);
  assert.equal(actual.storage.dtype, dtype, where);
  const count = expected.shape.reduce((a, b) => a * b, 1);
  for (let i = 0; i < count; i++) {
    const [a, b] = [actual.storage.host, host].map((home) => readElement(dtype, home, i));
    const isSame = a === b || (Number.isNaN(a) && Number.isNaN(b));
    const tolerance = isFloat(dtype) ? tolerances[dtype as keyof typeof tolerances] : 0;
    const distance = Math.abs(Number(a) - Number(b));
    const isClose = distance <= tolerance * Math.max(1, Math.abs(Number(b)));
    assert.ok(isSame || isClose, `${where}: element ${i} is ${a}, not ${b}`);
  }
}

/** Writes a sample once and reads it again, and compares it at some sizes. */
function check(
  sampleCase: SampleCase,
  { sizes, opset, isSymbolic }: { sizes: readonly number[]; opset: number; isSymbolic: boolean },
): void {
  const { sample } = sampleCase;
  const bound = sizes.map((size) => {
    let next = size;
    return bindSizes(sample, () => (size < 2 ? size : next++));
  });
  const written = sampleProgram(sampleCase, isSymbolic ? {} : { sizes: bound[0] });
  const model = compile(readBack(modelOf(written, opset)), { target: 'wasm' });
  for (const each of bound) {
    const operands = sampleOperands(sample, each, generator(5));
    const operator = compile(sampleProgram(sampleCase, { sizes: each }), { target: 'wasm' });
    const actual = model.run(operands);
    operator.run(operands).forEach((expected, i) => {
      assertAlike(actual[i], expected, `opset ${opset}, sizes ${[...each.values()].join()}`);
    });
  }
}

for (const sampleCase of sampleCases(registry.values())) {
  const { label, sample, declaration } = sampleCase;
  const hasSymbols = bindSizes(sample, () => 2).size > 0;
  const forms = [
    { sizes: [3], opset: 17, isSymbolic: false },
    ...(hasSymbols ? [{ sizes: [0], opset: 22, isSymbolic: false }] : []),
    { sizes: [0, 1, 3], opset: 18, isSymbolic: true },
    // What is written by a function may be written otherwise in newer versions.
    ...(typeof declaration.onnx === 'function'
      ? [{ sizes: [1, 3], opset: 22, isSymbolic: true }]
      : []),
  ];

  test(`${label}: a model computes what the operator computes`, () => {
    for (const form of forms) {
      try {
        check(sampleCase, form);
      } catch (error) {
        if (!(error instanceof UnsupportedError)) throw error;
        assert.ok(refused.has(declaration.name) || form.opset < bitwise, error.message);
        assert.ok(error.message.includes(`opset ${form.opset}`), error.message);
      }
    }
  });
}

test('the versions between the oldest and the newest are written, too', () => {
  const [sampleCase] = sampleCases([registry.get('layerNorm')!]);
  assert.deepEqual(opsets, [17, 18, 19, 20, 21, 22]);
  for (const opset of opsets) check(sampleCase, { sizes: [3], opset, isSymbolic: true });
});
