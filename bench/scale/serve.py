"""Runs steps under JAX on request: python serve.py FOLDER. Requests and answers are lines of JSON; see main.mjs."""

import json
import os
import pathlib
import sys
import time

# XLA makes as many threads as the process may use cores, and has no other switch for all of them.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "player"))
from hand import step_of
from kaon_player.programs.module import load_module

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def read(folder, name):
    described = json.loads((folder / f"{name}.json").read_text())
    data = (folder / f"{name}.bin").read_bytes()
    at = 0
    arrays = {}
    for key, each in described["arrays"].items():
        count = each["bytes"]
        arrays[key] = np.frombuffer(data[at : at + count], np.dtype(each["dtype"])).reshape(each["shape"])
        at += count
    return described, arrays


def written(described, arrays):
    """The text that Kaon wrote; state goes from call to call."""
    inputs, outputs = described["meta"]["inputs"], [each["name"] for each in described["meta"]["outputs"]]
    state = [k for k, each in enumerate(inputs) if each["next"] is not None]
    main = load_module(described["text"])
    run = jax.jit(main, donate_argnums=tuple(state))
    values = [jax.numpy.asarray(arrays[each["name"]]) for each in inputs]
    (loss,) = (k for k, name in enumerate(outputs) if all(each["next"] != name for each in inputs))
    places = {k: outputs.index(inputs[k]["next"]) for k in state}

    def step():
        results = run(*values)
        for k, place in places.items():
            values[k] = results[place]
        return results[loss]

    return step


def by_hand(name, described, arrays):
    """The step that hand.py has of it."""
    names = [each["name"] for each in described["meta"]["inputs"]]
    parameters = {key: jax.numpy.asarray(arrays[key]) for key in names if f"{key}/momentum" in arrays}
    velocities = {key: jax.numpy.asarray(arrays[f"{key}/momentum"]) for key in parameters}
    x, y = (jax.numpy.asarray(arrays[key]) for key in ("x", "y"))
    run, state = step_of(name), [parameters, velocities]

    def step():
        loss, *state[:] = run(*state, x, y)
        return loss

    return step


def main():
    folder = pathlib.Path(sys.argv[1])
    steps = {}
    for line in sys.stdin:
        request = json.loads(line)
        name, kind = request["name"], request["kind"]
        try:
            if (name, kind) not in steps:
                described, arrays = read(folder, name)
                steps[name, kind] = written(described, arrays) if kind == "written" else by_hand(name, described, arrays)
            clock, step = CLOCKS[request["clock"]], steps[name, kind]
            start = clock()
            losses = [step() for _ in range(request["count"])]
            jax.block_until_ready(losses)
            answer = {"seconds": clock() - start, "losses": [float(each) for each in losses]}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


main()
