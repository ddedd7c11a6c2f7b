"""python bench/peers.py numpy|torch|jax|mxnet

A contestant in Python: answers requests, one JSON object a line, until its input ends. The language is that
of harness/serve.mjs. Runs on every Python that one of the frameworks runs on, so from 3.8 on.
"""

import importlib
import json
import os
import sys
import time
import traceback

# Libraries print; standard output belongs to the answers.
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

# Time that passes, or, where others use the machine, time of the processor.
clock = time.process_time if os.environ.get("KAON_BENCH_CLOCK") == "cpu" else time.perf_counter

CLOCK_INTERVAL = 0.5e-3


def read_inputs(inputs):
    import numpy as np

    return {
        name: np.fromfile(entry["file"], dtype=entry["dtype"]).reshape(entry["shape"])
        for name, entry in inputs.items()
    }


def time_round(run, milliseconds):
    """Runs for some time and gives milliseconds a run; short runs are repeated between looks at the clock."""
    runs, batch, elapsed = 0, 1, 0.0
    start = clock()
    while True:
        for _ in range(batch):
            run()
        runs += batch
        now = clock() - start
        if now - elapsed < CLOCK_INTERVAL:
            batch *= 2
        elapsed = now
        if elapsed * 1e3 >= milliseconds:
            return elapsed * 1e3 / runs


class Contestant:
    """`load()` of a module in python_peers gives (versions, kinds); kinds[kind][form](inputs, case) gives
    (run, result)."""

    def __init__(self, name):
        self.name = name
        self.prepared = []

    def hello(self, _):
        module = importlib.import_module("python_peers." + self.name)
        try:
            versions, self.kinds = module.load(int(os.environ.get("KAON_BENCH_THREADS", "1")))
        except ImportError as error:
            return {"missing": str(error)}
        versions["Python"] = sys.version.split()[0]
        return {"versions": versions, "offers": {kind: list(forms) for kind, forms in self.kinds.items()}}

    def prepare(self, request):
        case = request["case"]
        make = self.kinds[case["kind"]][request["form"]]
        self.prepared.append(make(read_inputs(case["inputs"]), case))
        return {"id": len(self.prepared) - 1}

    def result(self, request):
        import numpy as np

        _, result = self.prepared[request["id"]]
        np.ascontiguousarray(result(), dtype=np.float64).tofile(request["file"])
        return {"written": True}

    def note(self, _):
        return {}

    def round(self, request):
        run, _ = self.prepared[request["id"]]
        return {"milliseconds": time_round(run, request["milliseconds"])}

    def release(self, request):
        self.prepared[request["id"]] = None
        return {}


def main():
    contestant = Contestant(sys.argv[1])
    actions = {name: getattr(contestant, name) for name in ("hello", "prepare", "result", "note", "round", "release")}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = actions[request["do"]](request)
        except Exception:  # whatever it is, the other side is told
            reply = {"error": traceback.format_exc().strip().splitlines()[-1]}
        answers.write(json.dumps(reply) + "\n")


if __name__ == "__main__":
    main()
