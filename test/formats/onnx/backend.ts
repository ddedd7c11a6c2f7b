/** ONNX's own test suite: its cases, their data, and how its runner compares. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readElement } from '../../../src/base/element.js';
import { arrayType } from '../../../src/front/core/array-type.js';
import { arrayOf, type NDArray } from '../../../src/front/core/ndarray.js';
import { elementNamed } from '../../../src/formats/onnx/elements.js';
import { loadProtobuf, protobufFor } from '../../../src/formats/onnx/proto/library.js';
import type {
  ModelProto,
  TensorProto,
  TypeProto,
} from '../../../src/formats/onnx/proto/onnx_pb.js';
import { type HostTensor, readTensor } from '../../../src/formats/onnx/tensor.js';
import { checkout } from '../../support/sources.js';

await loadProtobuf();

/** 1,329 cases with their data; its licence is beside it. */
const archive = join(checkout, 'test', 'formats', 'onnx', 'suite', 'onnx-backend-tests.tar.xz');

/** Where the suite lies unpacked. Takes tar with xz, or Python. */
export function unpackSuite(): string {
  const folder = mkdtempSync(join(tmpdir(), 'onnx-suite-'));
  try {
    execFileSync('tar', ['-xf', archive, '-C', folder], { stdio: 'pipe' });
  } catch {
    const program = 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])';
    execFileSync('python3', ['-c', program, archive, folder], { stdio: 'pipe' });
  }
  return join(folder, 'onnx-backend-tests');
}

export interface Case {
  readonly group: string;
  readonly name: string;
  readonly folder: string;
}

export function casesIn(suite: string): readonly Case[] {
  return readdirSync(suite, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name: group }) =>
      readdirSync(join(suite, group))
        .filter((name) => group !== 'light' || name.endsWith('.onnx'))
        .map((file) => file.replace(/\.onnx$/, ''))
        .map((name) => ({ group, name, folder: join(suite, group, name) })),
    )
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A value of a case: a tensor, a list of them, or none. */
export type Datum = HostTensor | readonly Datum[] | null;

export interface CaseData {
  readonly bytes: Uint8Array;
  readonly model: ModelProto;
  /** Read when they are asked for: some hold what cannot be carried. */
  readonly inputs: () => ReadonlyMap<string, Datum>;
  readonly outputs: () => ReadonlyMap<string, Datum>;
}

/** The schema lacks sequences and optional values: their files are read by field numbers. */
export function readCase(each: Case): CaseData {
  if (each.group === 'light') return readLight(each);
  const { fromBinary, schema } = protobufFor('test');
  const bytes = readFileSync(join(each.folder, 'model.onnx'));
  const model = fromBinary(schema.ModelProtoSchema, bytes);
  const data = join(each.folder, 'test_data_set_0');
  const read = (kind: 'input' | 'output'): ReadonlyMap<string, Datum> =>
    new Map(
      model.graph![kind].flatMap(({ name, type }, i): [string, Datum][] => {
        const file = join(data, `${kind}_${i}.pb`);
        return existsSync(file) ? [[name, readDatum(readFileSync(file), type)]] : [];
      }),
    );
  return { bytes, model, inputs: () => read('input'), outputs: () => read('output') };
}

/** Networks without their weights: the inputs rise from 0 to 1, as in the suite's own runner. */
function readLight({ folder }: Case): CaseData {
  const { fromBinary, schema } = protobufFor('test');
  const bytes = readFileSync(`${folder}.onnx`);
  const model = fromBinary(schema.ModelProtoSchema, bytes);
  const { input, initializer, output } = model.graph!;
  const stored = new Set(initializer.map(({ name }) => name));
  const inputs = new Map(
    input.flatMap(({ name, type }): [string, Datum][] => {
      if (stored.has(name) || type?.value.case !== 'tensorType') return [];
      const shape = type.value.value.shape!.dim.map(({ value }) => Number(value.value));
      const size = shape.reduce((a, b) => a * b, 1);
      const data = Float32Array.from({ length: size }, (_, i) => i / size);
      return [[name, { element: elementNamed('float'), type: { dtype: 'float32', shape }, data }]];
    }),
  );
  const result = readFileSync(`${folder}_output_0.pb`);
  const outputs = (): ReadonlyMap<string, Datum> =>
    new Map([[output[0].name, readDatum(result, output[0].type)]]);
  return { bytes, model, inputs: () => inputs, outputs };
}

function readDatum(bytes: Uint8Array, type: TypeProto | undefined): Datum {
  const { fromBinary, schema } = protobufFor('test');
  const kind = type?.value.case;
  if (kind === 'sequenceType') return readSequence(bytes);
  if (kind === 'optionalType') {
    const inner = (type!.value.value as { readonly elemType?: TypeProto }).elemType;
    const fields = fieldsOf(bytes);
    const held = fields.find(({ number }) => number >= 3);
    return held === undefined ? null : readDatum(held.bytes, inner);
  }
  return toTensor(fromBinary(schema.TensorProtoSchema, bytes));
}

/** `SequenceProto` of onnx-data.proto: field 3 holds tensors, field 5 sequences. */
function readSequence(bytes: Uint8Array): readonly Datum[] {
  const { fromBinary, schema } = protobufFor('test');
  return fieldsOf(bytes).flatMap(({ number, bytes: inner }): readonly Datum[] => {
    if (number === 3) return [toTensor(fromBinary(schema.TensorProtoSchema, inner))];
    return number === 5 ? [readSequence(inner)] : [];
  });
}

function toTensor(proto: TensorProto): Datum {
  return readTensor(proto, 'test data', null);
}

/** The fields of a message that hold bytes. */
function fieldsOf(
  bytes: Uint8Array,
): readonly { readonly number: number; readonly bytes: Uint8Array }[] {
  const found: { number: number; bytes: Uint8Array }[] = [];
  let at = 0;
  const varint = (): number => {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = bytes[at++];
      value += (byte & 127) * factor;
      factor *= 128;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    if (tag % 8 !== 2) varint();
    else {
      const length = varint();
      found.push({ number: Math.floor(tag / 8), bytes: bytes.subarray(at, at + length) });
      at += length;
    }
  }
  return found;
}

export function arrayFrom({ type, data }: HostTensor): NDArray {
  return arrayOf(arrayType(type.dtype, type.shape), data);
}

/**
 * What is wrong with a result, or null: dtype and shape exactly, elements as ONNX's runner compares; without
 * a tolerance, not at all.
 */
export function difference(
  name: string,
  actual: NDArray | undefined,
  expected: HostTensor,
  tolerance: { readonly rtol: number; readonly atol: number } | null,
): string | null {
  if (actual === undefined) return `${name} is missing`;
  const { dtype, shape } = expected.type;
  if (actual.dtype !== dtype) return `${name} is ${actual.dtype} instead of ${dtype}`;
  if (String(actual.shape) !== String(shape)) {
    return `${name} has shape [${actual.shape.join()}] instead of [${shape.join()}]`;
  }
  if (tolerance === null) return null;
  const { rtol, atol } = tolerance;
  const data = actual.computed().storage.host;
  for (let i = 0; i < expected.data.length; i++) {
    const [found, wanted] = [readElement(dtype, data, i), readElement(dtype, expected.data, i)];
    if (typeof wanted === 'bigint' ? found === wanted : isClose(Number(found), Number(wanted), rtol, atol)) continue; // prettier-ignore
    return `${name}[${i}] is ${String(found)} instead of ${String(wanted)}`;
  }
  return null;
}

function isClose(found: number, wanted: number, rtol: number, atol: number): boolean {
  if (Number.isNaN(wanted)) return Number.isNaN(found);
  return found === wanted || Math.abs(found - wanted) <= atol + rtol * Math.abs(wanted);
}
