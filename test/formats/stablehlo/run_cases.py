"""Runs the modules of a folder on their inputs: python run_cases.py FOLDER. See xla.ts."""

import json
import pathlib
import sys

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np
from kaon_player.programs.module import load_module

folder = pathlib.Path(sys.argv[1])
cases = json.loads((folder / "cases.json").read_text())
data = np.fromfile(folder / "inputs.bin", dtype=np.uint8)
results, written = [], open(folder / "outputs.bin", "wb")
for case in cases:
    try:
        arrays = []
        for each in case["inputs"]:
            part = data[each["offset"] : each["offset"] + each["bytes"]]
            dtype = jax.numpy.dtype(each["dtype"])
            arrays.append(np.frombuffer(part.tobytes(), dtype).reshape(each["shape"]))
        outputs = jax.jit(load_module(case["text"]))(*arrays)
        found = []
        for output in outputs:
            array = np.asarray(output)
            found.append({"dtype": str(array.dtype), "shape": list(array.shape), "bytes": array.nbytes})
            written.write(np.ascontiguousarray(array).tobytes())
        results.append({"outputs": found})
    except Exception as error:  # reported per case, where the test fails
        results.append({"error": f"{type(error).__name__}: {error}"[:2000]})
written.close()
(folder / "results.json").write_text(json.dumps(results))
