"""Three steps of the networks that Kaon wrote as jobs, on meshes: losses and state against Kaon's own run.

The jobs are in the folder that KAON_PLAYER_JOBS names; `npm run test:player` writes them.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import change_job, copy_job, needs_jobs, start
from safetensors.numpy import load_file

from kaon_player.jobs.job import read_job
from kaon_player.runs.distributed import Launch
from kaon_player.runs.plan import make_plan
from kaon_player.runs.running import run

pytestmark = needs_jobs

JOBS = (
    "MLP-with-dropout-and-Adam",
    "convolution-with-batch-norm-and-SGD",
    "LSTM-and-Adam",
    "LSTM-with-lengths-and-Adam",
    "cond-and-a-bounded-whileLoop",
    "transformer-with-dropout-and-AdamW",
)

FSDP = [[".*", "fsdp"]]

# Rules as Megatron divides: the first product of a pair by its outputs, the second by its inputs.
TENSOR: dict[str, list[Any]] = {
    "MLP-with-dropout-and-Adam": [
        [r"^layers\.0\.weight$", ["model", None]],
        [r"^layers\.0\.bias$", ["model"]],
        [r"^layers\.2\.weight$", [None, "model"]],
    ],
    "convolution-with-batch-norm-and-SGD": [[r"^layers\.0\.weight$", ["model"]], [r"^layers\.\d\.bias$", ["model"]]],
    "LSTM-and-Adam": [[r"^lstm.*[wW]eight", ["model", None]], [r"^head\.weight$", [None, "model"]]],
    "LSTM-with-lengths-and-Adam": [[r"^lstm.*[wW]eight", ["model", None]]],
    "cond-and-a-bounded-whileLoop": [[r"^captured$", [None, "model"]]],
    "transformer-with-dropout-and-AdamW": [
        [r"attention\.(query|key|value)\.weight$", ["model", None]],
        [r"attention\.(query|key|value)\.bias$", ["model"]],
        [r"attention\.output\.weight$", [None, "model"]],
        [r"inner\.weight$", ["model", None]],
        [r"inner\.bias$", ["model"]],
        [r"outer\.weight$", [None, "model"]],
    ],
}

# With all state on every device: one reduction for each parameter and the loss, for batch norm those of its
# statistics and their gradients. Compilers may join them.
MOST_REDUCTIONS = {
    "MLP-with-dropout-and-Adam": 5,
    "convolution-with-batch-norm-and-SGD": 13,
    "LSTM-and-Adam": 7,
    "LSTM-with-lengths-and-Adam": 19,
    "cond-and-a-bounded-whileLoop": 6,
    "transformer-with-dropout-and-AdamW": 38,
}


def assert_as_expected(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text())["losses"]
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    losses = [next(iter(line["metrics"].values())) for line in lines]
    np.testing.assert_allclose(losses, expected, rtol=1e-5, atol=1e-5)
    want, have = load_file(folder / "expected.safetensors"), load_file(folder / "final.safetensors")
    assert sorted(have) == sorted(want)
    for name, value in want.items():
        np.testing.assert_allclose(have[name], value, rtol=1e-5, atol=1e-5, err_msg=name)


def mesh_of(way: str, name: str) -> dict[str, object]:
    ways: dict[str, dict[str, object]] = {
        "one device": {"mesh": {"data": 1}},
        "data": {"mesh": {"data": 8}},
        "fully sharded": {"mesh": {"data": 8}, "rules": FSDP},
        "tensor": {"mesh": {"data": 4, "model": 2}, "rules": TENSOR[name]},
    }
    return ways[way]


@pytest.mark.parametrize("way", ["one device", "data", "fully sharded", "tensor"])
@pytest.mark.parametrize("name", JOBS)
def test_three_steps_are_those_of_kaon(tmp_path: Path, name: str, way: str) -> None:
    folder = change_job(copy_job(name, tmp_path), **mesh_of(way, name))
    assert run(folder, Launch()) == "finished"
    assert_as_expected(folder)


@pytest.mark.parametrize("name", JOBS)
def test_data_parallel_steps_only_reduce(tmp_path: Path, name: str) -> None:
    folder = change_job(copy_job(name, tmp_path), **mesh_of("data", name))
    found, repeated = make_plan(read_job(folder)).step.collectives()
    assert 0 < found.pop("all-reduce") <= MOST_REDUCTIONS[name]
    assert found == {}
    # The condition of the loop is about all rows.
    assert repeated == {} or "whileLoop" in name


@pytest.mark.parametrize(
    ("name", "way"),
    [("MLP-with-dropout-and-Adam", "fully sharded"), ("transformer-with-dropout-and-AdamW", "tensor")],
)
def test_two_processes_compute_what_one_does(tmp_path: Path, name: str, way: str) -> None:
    folder = change_job(copy_job(name, tmp_path), **mesh_of(way, name))
    assert run_processes(folder, 2, 4) == ["finished\n"] * 2
    assert_as_expected(folder)


def run_processes(folder: Path, count: int, devices: int) -> list[str]:
    """Runs a job in several processes; gives what they print."""
    started = start_processes(folder, count, devices)
    results = [each.communicate(timeout=300) for each in started]
    assert [each.returncode for each in started] == [0] * count, results
    return [output.splitlines(keepends=True)[-1] for output, _ in results]


def start_processes(folder: Path, count: int, devices: int, *options: str) -> list[subprocess.Popen[str]]:
    address = f"localhost:{free_port()}"
    return [
        start(
            *("run", str(folder), "--coordinator", address, "--processes", str(count), "--process", str(index)),
            *options,
            devices=devices,
        )
        for index in range(count)
    ]


def free_port() -> int:
    import socket

    with socket.socket() as opened:
        opened.bind(("localhost", 0))
        port: int = opened.getsockname()[1]
        return port
