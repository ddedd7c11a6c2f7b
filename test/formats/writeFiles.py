"""Writes the files that npyFiles.ts holds: every dtype, order and container. Needs numpy and safetensors.

python3 test/formats/writeFiles.py > test/formats/npyFiles.ts
"""

import base64
import io

import numpy as np
from safetensors.numpy import save

dtypes = "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1".split()


def values(dtype):
    base = np.array([[0, 1, 2], [3, 100, 1]])
    if np.dtype(dtype).kind == "f":
        base = base / 4 - 1
    if np.dtype(dtype).kind == "i":
        base = base - 2
    return base.astype(dtype)


def npy(array, version=None):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=version)
    return buffer.getvalue()


def text(data):
    return base64.b64encode(data).decode()


lines = []
for dtype in dtypes:
    for order in "<>":
        array = values(order + dtype)
        expected = [str(x) for x in array.astype("f8").ravel().tolist()]
        for name, stored in ("rows", array), ("columns", np.asfortranarray(array)):
            lines.append(("npy", f"{order}{dtype} {name}", npy(stored), [2, 3], expected))
one = np.arange(24, dtype="<i4").reshape(2, 3, 4)
whole = [str(float(x)) for x in range(24)]
lines.append(("npy", "rank 3 columns", npy(np.asfortranarray(one)), [2, 3, 4], whole))
for version in (1, 0), (2, 0), (3, 0):
    lines.append(("npy", f"version {version[0]}", npy(one, version), [2, 3, 4], whole))
lines.append(("npy", "rank 0", npy(np.float32(1.5).reshape(())), [], ["1.5"]))
lines.append(("npy", "empty", npy(np.zeros((0, 3), "f4")), [0, 3], []))

archive = {"weight": values("<f4"), "größe": values(">i2"), "a/b": np.asfortranarray(values("f8"))}
archives = []
for name, write in ("stored", np.savez), ("compressed", np.savez_compressed):
    buffer = io.BytesIO()
    write(buffer, **archive)
    archives.append((name, buffer.getvalue()))
tensors = save({dtype: np.ascontiguousarray(values(dtype)) for dtype in dtypes})

print("// Written by writeFiles.py in this folder: files of NumPy and of Python's safetensors, in base64.")
print("export interface NpyFile {\n  readonly name: string;\n  readonly file: string;\n  readonly shape: readonly number[];\n  readonly elements: readonly number[];\n}\n")
print("export const npyFiles: readonly NpyFile[] = [")
for _, name, data, shape, expected in lines:
    print(f"  {{ name: '{name}', file: '{text(data)}', shape: {shape}, elements: [{', '.join(expected)}] }},")
print("];\n")
print("export const npzFiles: readonly { readonly name: string; readonly file: string }[] = [")
for name, data in archives:
    print(f"  {{ name: '{name}', file: '{text(data)}' }},")
print("];\n")
print(f"/** Tensors by NumPy's name of their dtype, each the rows [[0, 1, 2], [3, 100, 1]] as writeFiles.py makes them. */")
print(f"export const tensorFile: string = '{text(tensors)}';")
