"""Runs training steps: python run_steps.py FOLDER. See player.ts."""

import json
import pathlib
import sys

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np
from kaon_player.step import Step, fully_sharded, replicated

folder = pathlib.Path(sys.argv[1])
job = json.loads((folder / "job.json").read_text())
data = np.fromfile(folder / "inputs.bin", dtype=np.uint8).tobytes()


def read(described):
    return {
        name: np.frombuffer(
            data[each["offset"] : each["offset"] + each["bytes"]], jax.numpy.dtype(each["dtype"])
        ).reshape(each["shape"])
        for name, each in described.items()
    }


results, written = [], open(folder / "outputs.bin", "wb")
for run in job:
    devices = jax.devices()[: run["devices"]]
    partition = fully_sharded if run["partition"] == "sharded" else replicated
    step = Step(run["text"], run["meta"], devices, partition, run["batchAxes"])
    state, losses = read(run["state"]), []
    for batch in run["batches"]:
        outputs, state = step(state, read(batch))
        losses.append([float(value) for value in outputs.values()])
    arrays = []
    for name, value in state.items():
        array = np.asarray(value)
        arrays.append({"name": name, "dtype": str(array.dtype), "shape": list(array.shape), "bytes": array.nbytes})
        written.write(np.ascontiguousarray(array).tobytes())
    collectives, repeated = step.collectives()
    results.append({"losses": losses, "state": arrays, "collectives": collectives, "repeated": repeated})
written.close()
(folder / "results.json").write_text(json.dumps(results))
