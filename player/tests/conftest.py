"""Jobs for tests, and processes that run them."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from safetensors.numpy import save_file

DEVICES = 8
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"  # read when its backend starts
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)

Change = Callable[[dict[str, Any]], None]

# ruff: noqa: E501
# A step that anybody can follow: w loses a tenth of the mean of the batch, count counts, the noise comes from a state.
STEP = """
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x2xf32>, tensor<2xf32>, tensor<i64>, tensor<f32>) -> (tensor<f32>, tensor<2xf32>, tensor<i64>), sym_name = "main"}> ({
  ^bb0(%x: tensor<4x2xf32>, %w: tensor<2xf32>, %count: tensor<i64>, %rate: tensor<f32>):
    %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
    %sum = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<4x2xf32>, tensor<f32>) -> tensor<2xf32>
    %rates = "stablehlo.broadcast_in_dim"(%rate) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2xf32>
    %part = "stablehlo.multiply"(%sum, %rates) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %after = "stablehlo.subtract"(%w, %part) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %loss = "stablehlo.reduce"(%after, %zero) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %next = "stablehlo.add"(%count, %one) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    "func.return"(%loss, %after, %next) : (tensor<f32>, tensor<2xf32>, tensor<i64>) -> ()
  }) : () -> ()
}) : () -> ()
"""

META = {
    "version": 1,
    "inputs": [
        {"name": "x", "dtype": "float32", "shape": [4, 2], "kind": "input", "next": None},
        {"name": "w", "dtype": "float32", "shape": [2], "kind": "array", "next": "w.next"},
        {"name": "count", "dtype": "int64", "shape": [], "kind": "array", "next": "count.next"},
        {"name": "rate", "dtype": "float32", "shape": [], "kind": "number", "next": None},
    ],
    "outputs": [
        {"name": "loss", "dtype": "float32", "shape": []},
        {"name": "w.next", "dtype": "float32", "shape": [2]},
        {"name": "count.next", "dtype": "int64", "shape": []},
    ],
}


def write_small_job(folder: Path, change: Change = lambda job: None) -> Path:
    """A job of ten steps over ten examples, with batches of four."""
    (folder / "data").mkdir(parents=True)
    (folder / "step.mlir").write_text(STEP)
    x = np.arange(20, dtype=np.float32).reshape(10, 2)
    save_file({"x": x[:6]}, folder / "data/a.safetensors")
    save_file({"x": x[6:]}, folder / "data/b.safetensors")
    state: dict[str, np.ndarray[Any, Any]] = {
        "w": np.zeros(2, np.float32),
        "count": np.array(0, np.int64),
        "rate": np.array(0.5, np.float32),
    }
    save_file(state, folder / "state.safetensors")
    job: dict[str, Any] = {
        "version": 1,
        "programs": {"step": {"file": "step.mlir", "meta": META}},
        "state": "state.safetensors",
        "data": {"kind": "safetensors", "files": ["data/*.safetensors"], "feeds": {"x": "x"}},
        "batch": 4,
        "batchAxes": {"x": 0},
        "steps": 10,
        "mesh": {"data": 2},
        "rules": [["^w$", "fsdp"]],
        "checkpoint": {"every": 3, "keep": 2},
        "seed": 1,
        "metrics": ["loss"],
    }
    change(job)
    (folder / "job.json").write_text(json.dumps(job, indent=2))
    return folder


def change_job(folder: Path, **entries: object) -> Path:
    """Replaces entries of a job."""
    file = folder / "job.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **entries}, indent=2))
    return folder


def environment(devices: int) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parent.parent),
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
        "JAX_PLATFORMS": "cpu",
    }


def start(*arguments: str, devices: int = DEVICES) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "kaon_player", *arguments],
        env=environment(devices),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def written_jobs() -> Path | None:
    """Jobs that Kaon has written, where there are some."""
    folder = os.environ.get("KAON_PLAYER_JOBS")
    return Path(folder) if folder else None


needs_jobs = pytest.mark.skipif(written_jobs() is None, reason="KAON_PLAYER_JOBS names no folder of jobs")


def copy_job(name: str, folder: Path) -> Path:
    """A copy of a job that Kaon has written."""
    root = written_jobs()
    assert root is not None
    return Path(shutil.copytree(root / name, folder / name))
