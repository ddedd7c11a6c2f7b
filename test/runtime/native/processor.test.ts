import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeModules } from '../../../src/base/node.js';
import {
  cachesOf,
  incompatibility,
  parseMacros,
  targetOf,
} from '../../../src/runtime/native/processor.js';

const defined = (...names: string[]): ReturnType<typeof parseMacros> =>
  parseMacros(
    [
      '#define __BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__',
      ...names.map((name) => `#define ${name} 1`),
    ].join('\n'),
  );

test('a processor is what the compiler says of it', () => {
  const cases: readonly [readonly string[], string, number, number, boolean][] = [
    [['__SSE2__', '__AVX2__', '__FMA__', '__AVX512F__'], 'avx512', 64, 32, true],
    [['__SSE2__', '__AVX2__', '__FMA__'], 'avx2', 32, 16, true],
    [['__SSE2__', '__AVX2__'], 'avx2', 32, 16, false],
    [['__SSE2__'], 'sse', 16, 16, false],
    [['__ARM_NEON', '__ARM_FEATURE_FMA'], 'neon', 16, 32, true],
    [[], 'generic', 16, 15, false],
  ];
  for (const [names, name, bytes, registers, fuses] of cases) {
    const target = targetOf(defined(...names), { secondCache: 12345 });
    const { vectorBytes, vectorRegisters, fusesMultiplyAdd, secondCache } = target;
    assert.deepEqual(
      [target.name, vectorBytes, vectorRegisters, fusesMultiplyAdd, secondCache],
      [name, bytes, registers, fuses, 12345],
    );
    assert.ok(target.firstCache >= 2 ** 14);
  }
});

test('compilers whose results would be others are refused', () => {
  assert.equal(incompatibility(defined()), null);
  assert.equal(incompatibility(parseMacros('#define __BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__\n#define __FLT_EVAL_METHOD__ 0')), null); // prettier-ignore
  assert.match(incompatibility(parseMacros('nothing'))!, /does not say/);
  assert.match(
    incompatibility(parseMacros('#define __BYTE_ORDER__ __ORDER_BIG_ENDIAN__'))!,
    /bytes/,
  );
  const wide = parseMacros(
    '#define __BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__\n#define __FLT_EVAL_METHOD__ 2',
  );
  assert.match(incompatibility(wide)!, /precision/);
});

test('caches are as large as the system says, if it says anything', () => {
  const node = nodeModules()!;
  const told: Readonly<Record<string, string>> = {
    'index0/level': '1', 'index0/type': 'Data', 'index0/size': '48K',
    'index1/level': '1', 'index1/type': 'Instruction', 'index1/size': '32K',
    'index2/level': '2', 'index2/type': 'Unified', 'index2/size': '2M',
    'index3/level': '3', 'index3/type': 'Unified', 'index3/size': '1000',
  }; // prettier-ignore
  const files = {
    readdirSync: () => ['uevent', 'index0', 'index1', 'index2', 'index3'],
    readFileSync: (file: string) => `${told[file.split('/').slice(-2).join('/')]}\n`,
  } as unknown as typeof node.files;
  assert.deepEqual(cachesOf({ ...node, files }), { firstCache: 49152, secondCache: 2 ** 21 });
  const silent = { readdirSync: () => assert.fail() } as unknown as typeof node.files;
  assert.deepEqual(cachesOf({ ...node, files: silent }), {});
});
