"""Runs training steps: python run_steps.py FOLDER. See player.ts."""

import json
import pathlib
import sys

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np
from jax.sharding import Mesh
from kaon_player.jobs.job import Argument, Program, Result
from kaon_player.jobs.partition import fully_sharded
from kaon_player.programs.program import MeshProgram, place

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


def typed(described, make):
    return tuple(make(**{**each, "shape": tuple(each["shape"])}) for each in described)


results, written = [], open(folder / "outputs.bin", "wb")
for run in job:
    count, meta = run["devices"], run["meta"]
    program = Program(run["text"], typed(meta["inputs"], Argument), typed(meta["outputs"], Result))
    is_sharded = run["partition"] == "sharded"
    partition = {each.name: fully_sharded(each.shape, count) if is_sharded else () for each in program.state}
    axes = {each.name: run["batchAxes"].get(each.name, 0) for each in program.feeds}
    returned = [each.name for each in program.returned]
    mesh = Mesh(np.array(jax.devices()[:count]), ("data",))
    step = MeshProgram(program, mesh, partition, axes, returned)
    state = {name: place(value, step.state_shardings[name]) for name, value in read(run["state"]).items()}
    losses = []
    for batch in run["batches"]:
        outputs, state = step(state, step.feed(step.rows(), read(batch)))
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
