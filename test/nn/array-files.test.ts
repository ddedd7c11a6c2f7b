import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { fromBase64 } from '../../src/base/base64.js';
import * as kn from '../../src/index.js';
import { npyFiles, npzFiles, tensorFile } from '../formats/npy-files.js';

let folder: string;
before(() => (folder = mkdtempSync(join(tmpdir(), 'kaon-arrays-'))));
after(() => rmSync(folder, { recursive: true }));

const dtypes = ['float32', 'float64', 'float16', 'int8', 'uint8', 'int32', 'int64', 'bool', 'bfloat16'] as const; // prettier-ignore

const sample = (dtype: kn.DType): kn.NDArray =>
  kn.array([[0, 1, 1], [1, 0, 1]], { dtype: 'float32' }).astype(dtype); // prettier-ignore

test('arrays of every dtype come back from every format that has it', async () => {
  for (const format of ['npz', 'safetensors'] as const) {
    const arrays = Object.fromEntries(
      dtypes.filter((dtype) => format !== 'npz' || dtype !== 'bfloat16').map((dtype) => [dtype, sample(dtype)]),
    ); // prettier-ignore
    for (const compress of [false, true]) {
      const path = join(folder, `all.${format}`);
      await kn.save(path, arrays, { compress });
      const found = await kn.load(path as `${string}.npz`);
      assert.deepEqual(Object.keys(found), Object.keys(arrays));
      for (const [name, array] of Object.entries(arrays)) {
        assert.equal(found[name].dtype, name);
        assert.deepEqual(found[name].tolist(), array.tolist());
      }
    }
  }
  const path = join(folder, 'one.npy') as `${string}.npy`;
  for (const dtype of dtypes.slice(0, -1)) {
    await kn.save(pathToFileURL(path), sample(dtype));
    const found = await kn.load(path);
    assert.equal(found.dtype, dtype);
    assert.deepEqual(found.tolist(), sample(dtype).tolist());
  }
  await assert.rejects(kn.save(path, sample('bfloat16')), kn.UnsupportedError);
});

test('archives of NumPy, stored and compressed', async () => {
  for (const { name, file } of npzFiles) {
    const arrays = await kn.load(fromBase64(file), { format: 'npz' });
    assert.deepEqual(Object.keys(arrays), ['weight', 'größe', 'a/b'], name);
    assert.deepEqual(arrays.weight.tolist(), [[-1, -0.75, -0.5], [-0.25, 24, -0.75]]); // prettier-ignore
    assert.equal(arrays['größe'].dtype, 'int32');
    assert.deepEqual(arrays['größe'].tolist(), [[-2, -1, 0], [1, 98, -1]]); // prettier-ignore
    assert.deepEqual(arrays['a/b'].tolist(), arrays.weight.tolist());
  }
});

test("tensors of Python's safetensors", async () => {
  const arrays = await kn.load(fromBase64(tensorFile), { format: 'safetensors' });
  const expected = { f2: 'float16', f4: 'float32', f8: 'float64', i1: 'int8', i2: 'int32', i4: 'int32', i8: 'int64', u1: 'uint8', u2: 'int32', u4: 'int64', u8: 'int64', b1: 'bool' }; // prettier-ignore
  assert.deepEqual(Object.keys(arrays).sort(), Object.keys(expected).sort());
  for (const [name, dtype] of Object.entries(expected)) {
    assert.equal(arrays[name].dtype, dtype, name);
    const elements = npyFiles.find((each) => each.name === `<${name} rows`)!.elements;
    assert.deepEqual(arrays[name].astype('float64').flatten().tolist(), elements, name);
  }
});

test('files are read from paths, addresses and bytes', async () => {
  const { file, elements } = npyFiles[0];
  const bytes = fromBase64(file);
  const path = join(folder, 'a.npy');
  writeFileSync(path, bytes);
  const server = createServer((request, response) => {
    if (request.url === '/a.npy') response.end(bytes);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    for (const source of [path, pathToFileURL(path), bytes, bytes.slice().buffer, `http://127.0.0.1:${port}/a.npy`, new URL(`data:application/octet-stream;base64,${file}`)]) {
      const array = await kn.load(source, { format: 'npy' });
      assert.deepEqual(array.astype('float64').flatten().tolist(), elements);
    } // prettier-ignore
    await assert.rejects(kn.load(`http://127.0.0.1:${port}/b.npy`), kn.FormatError);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test('what is no file of arrays is refused, and what is there stays', async () => {
  const npz = fromBase64(npzFiles[1].file);
  const cases: readonly [unknown, kn.LoadOptions, new (...args: never[]) => Error, RegExp][] = [
    [join(folder, 'none.npy'), {}, kn.FormatError, /cannot be read/],
    [npz, { maxBytes: 100 }, kn.FormatError, /too large/],
    [npz, { format: 'npy' }, kn.FormatError, /another format/],
    [npz.subarray(0, 60), {}, kn.FormatError, /damaged/],
    [new Uint8Array(3), {}, kn.FormatError, /safetensors/],
    [null, {}, kn.ArgumentError, /not a file/],
    [7, {}, kn.ArgumentError, /not a file/],
    [npz, { formt: 'npz' } as kn.LoadOptions, kn.ArgumentError, /formt/],
    [npz, { format: 'csv' } as never, kn.ArgumentError, /format/],
  ];
  for (const [source, options, kind, says] of cases) {
    await assert.rejects(
      kn.load(source as string, options),
      (error) => error instanceof kind && says.test((error as Error).message),
      String(says),
    );
  }
  const path = join(folder, 'kept.npz') as `${string}.npz`;
  await kn.save(path, { x: kn.ones([2]) });
  for (const [name, arrays] of [
    ['kept.npz', kn.ones([2])],
    ['kept.npz', { x: [1, 2] }],
    ['kept.npy', { x: kn.ones([2]) }],
    ['kept.csv', kn.ones([2])],
  ] as const) {
    await assert.rejects(kn.save(join(folder, name), arrays as never), kn.ArgumentError);
  }
  assert.deepEqual((await kn.load(path)).x.tolist(), [1, 1]);
});

test('every file that ends too early, and every changed byte of an archive, is read or refused', async () => {
  for (const text of [npyFiles[0].file, npzFiles[0].file, npzFiles[1].file, tensorFile]) {
    const whole = fromBase64(text);
    for (let at = 0; at < whole.length; at += 7) {
      const changed = whole.slice();
      changed[at] ^= 0x55;
      for (const bytes of [whole.subarray(0, at), changed]) {
        try {
          await kn.load(bytes, { maxBytes: 2 ** 20 });
        } catch (error) {
          assert.ok(error instanceof kn.KaonError && !(error instanceof kn.InternalError), String(error)); // prettier-ignore
        }
      }
    }
  }
});

/** A Python with NumPy and safetensors: `KAON_PYTHON`, or one that is there. */
const python = [process.env['KAON_PYTHON'], 'python3'].find(
  (name) => name !== undefined && spawnSync(name, ['-c', 'import numpy, safetensors']).status === 0,
);

test(
  'files of Kaon are read by NumPy and by safetensors',
  { skip: python === undefined && 'no Python with numpy and safetensors' },
  async () => {
    const npz = Object.fromEntries(dtypes.slice(0, -1).map((dtype) => [dtype, sample(dtype)]));
    await kn.save(join(folder, 'out.npz'), npz, { compress: true });
    await kn.save(join(folder, 'out.safetensors'), { ...npz, bfloat16: sample('bfloat16') });
    const script = `
import sys, numpy
from safetensors import safe_open
a = numpy.load(sys.argv[1])
for name in a.files:
    assert a[name].dtype == name, (name, a[name].dtype)
    assert a[name].tolist() == [[0, 1, 1], [1, 0, 1]], name
with safe_open(sys.argv[2], 'numpy') as f:
    names = list(f.keys())
    for name in names:
        if name != 'bfloat16':
            assert f.get_tensor(name).tolist() == [[0, 1, 1], [1, 0, 1]], name
    assert f.get_slice('bfloat16').get_dtype() == 'BF16'
print(len(a.files), len(names))
`;
    const files = ['out.npz', 'out.safetensors'].map((name) => join(folder, name));
    const { stdout, stderr } = spawnSync(python!, ['-c', script, ...files], { encoding: 'utf8' });
    assert.equal(stdout.trim(), '8 9', stderr);
  },
);
