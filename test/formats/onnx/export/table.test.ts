import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { UnsupportedError } from '../../../../src/base/errors.js';
import { exportProgram } from '../../../../src/formats/onnx/export/export.js';
import { loadProtobuf, protobufFor } from '../../../../src/formats/onnx/proto/library.js';
import type { GraphProto } from '../../../../src/formats/onnx/proto/onnx_pb.js';
import { registry } from '../../../../src/ops/registry.js';
import { type SampleCase, sampleCases, sampleProgram } from '../../../support/samples.js';
import { checkout } from '../../../support/sources.js';

await loadProtobuf();

/* The table of docs/onnx.md says what operators become; KAON_WRITE_SCOREBOARD=1 writes it. */

const opset = 20;
/** Longer lists say less than how long they are. */
const most = 6;

/** The operators of ONNX that a sample becomes; null where it is refused. */
function typesOf(sampleCase: SampleCase): ReadonlySet<string> | null {
  const { fromBinary, schema } = protobufFor('test');
  const program = sampleProgram(sampleCase);
  const outputs = program.outputs.map(({ name }) => name);
  let bytes: Uint8Array;
  try {
    const nothing = { stored: new Map(), defaults: new Set<string>(), metadata: new Map() };
    bytes = exportProgram({ program, outputs, ...nothing, opset, file: null });
  } catch (error) {
    if (error instanceof UnsupportedError) return null;
    throw error;
  }
  const found = new Set<string>();
  const visit = (graph: GraphProto): void => {
    for (const { opType, attribute } of graph.node) {
      found.add(opType);
      for (const { g } of attribute) if (g !== undefined) visit(g);
    }
  };
  visit(fromBinary(schema.ModelProtoSchema, bytes).graph!);
  return found;
}

/** Operators without samples, those with regions, are left out. */
function rows(name: string): readonly string[] {
  const [first] = sampleCases([registry.get(name)!]);
  if (first === undefined) return [];
  const types = typesOf(first);
  if (types === null) return [`| ${name} | not available |`];
  const list = [...types].sort();
  const text = list.length <= most ? list.join(', ') : `${list.length} operators`;
  return [`| ${name} | ${text || 'nothing'} |`];
}

test('docs/onnx.md says what operators become in ONNX', () => {
  const path = join(checkout, 'docs', 'onnx.md');
  const text = readFileSync(path, 'utf8');
  const [start, end] = ['<!-- written operators -->', '<!-- end of the written operators -->'];
  const head = ['| operator | in ONNX |', '| --- | --- |'];
  const table = [...head, ...[...registry.keys()].sort().flatMap(rows)].join('\n');
  const [before, rest] = text.split(start);
  const [, after] = rest.split(end);
  const ignored = ['<!-- prettier-ignore-start -->', '<!-- prettier-ignore-end -->'];
  const wanted = `${before}${start}\n\n${ignored[0]}\n\n${table}\n\n${ignored[1]}\n\n${end}${after}`;
  if (process.env.KAON_WRITE_SCOREBOARD === '1') writeFileSync(path, wanted);
  assert.ok(registry.size > 0);
  const command = 'KAON_WRITE_SCOREBOARD=1 node scripts/test.mjs test/formats/onnx/export/table';
  assert.ok(readFileSync(path, 'utf8') === wanted, `docs/onnx.md is stale; ${command} writes it`);
});
