"""Executes FOLDER/model.onnx on the .npy files of FOLDER/runs/N/in, and writes what comes out beside them."""

import sys
from pathlib import Path
from urllib.parse import quote, unquote

import numpy
import onnxruntime


def execute(folder: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors: it warns of every state that has a value to begin with
    session = onnxruntime.InferenceSession(
        folder / "model.onnx", options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    state = {}
    for run in sorted((folder / "runs").iterdir(), key=lambda run: int(run.name)):
        feeds = {unquote(file.stem): numpy.load(file) for file in (run / "in").iterdir()}
        results = dict(zip(names, session.run(names, {**feeds, **state})))
        # The output x.next is what the input x is at the next run.
        state = {
            name.removesuffix(".next"): value
            for name, value in results.items()
            if name.endswith(".next")
        }
        (run / "out").mkdir(exist_ok=True)
        for name, value in results.items():
            numpy.save(run / "out" / f"{quote(name, safe='')}.npy", numpy.asarray(value, order="C"))


if __name__ == "__main__":
    execute(Path(sys.argv[1]))
