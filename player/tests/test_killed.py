"""A player that is killed in the middle of its saves, at any moment of them, goes on bit for bit."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import change_job, environment, write_small_job
from safetensors.numpy import save_file
from test_interrupted import assert_same

from kaon_player.runs.distributed import Launch
from kaon_player.runs.running import run

KILLS = 8
SIZE = 1 << 20

# ruff: noqa: E501
# State that takes longer to write than to compute: w decays, and is moved by the batch.
STEP = """
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x2xf32>, tensor<SIZExf32>, tensor<i64>, tensor<f32>) -> (tensor<f32>, tensor<SIZExf32>, tensor<i64>), sym_name = "main"}> ({
  ^bb0(%x: tensor<4x2xf32>, %w: tensor<SIZExf32>, %count: tensor<i64>, %rate: tensor<f32>):
    %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
    %loss = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<4x2xf32>, tensor<f32>) -> tensor<f32>
    %rates = "stablehlo.broadcast_in_dim"(%rate) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<SIZExf32>
    %losses = "stablehlo.broadcast_in_dim"(%loss) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<SIZExf32>
    %places = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<SIZExf32>
    %part = "stablehlo.multiply"(%w, %rates) : (tensor<SIZExf32>, tensor<SIZExf32>) -> tensor<SIZExf32>
    %moves = "stablehlo.multiply"(%losses, %places) : (tensor<SIZExf32>, tensor<SIZExf32>) -> tensor<SIZExf32>
    %after = "stablehlo.add"(%part, %moves) : (tensor<SIZExf32>, tensor<SIZExf32>) -> tensor<SIZExf32>
    %next = "stablehlo.add"(%count, %one) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    "func.return"(%loss, %after, %next) : (tensor<f32>, tensor<SIZExf32>, tensor<i64>) -> ()
  }) : () -> ()
}) : () -> ()
""".replace("SIZE", str(SIZE))


def write_large_job(folder: Path) -> Path:
    """The small job with megabytes of state, saved after every step."""
    write_small_job(folder)
    (folder / "step.mlir").write_text(STEP)
    programs = json.loads((folder / "job.json").read_text())["programs"]
    for each in (*programs["step"]["meta"]["inputs"], *programs["step"]["meta"]["outputs"]):
        if each["name"].startswith("w"):
            each["shape"] = [SIZE]
    state: dict[str, np.ndarray[Any, Any]] = {
        "w": np.zeros(SIZE, np.float32),
        "count": np.array(0, np.int64),
        "rate": np.array(0.5, np.float32),
    }
    save_file(state, folder / "state.safetensors")
    return change_job(folder, programs=programs, steps=8 * KILLS, checkpoint={"every": 1, "keep": 2})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are forks of one process")
def test_player_that_is_killed_in_its_saves_goes_on(tmp_path: Path) -> None:
    whole, killed = write_large_job(tmp_path / "whole"), write_large_job(tmp_path / "killed")
    # Threads do not survive a fork.
    env = {**environment(2), "JAX_ENABLE_X64": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    script = str(Path(__file__).with_name("kill_in_saves.py"))
    made = subprocess.run([sys.executable, script, str(killed), str(KILLS)], env=env, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    left = json.loads(made.stdout.splitlines()[-1])
    assert len(left) == KILLS
    assert sum(files is not None for files in left) >= KILLS // 4, left
    assert not (killed / "final.safetensors").exists()
    (killed / "checkpoints/.latest.1").touch()  # as a kill between two system calls leaves it
    assert run(killed, Launch()) == "finished"
    run(whole, Launch())
    assert_same(killed, whole)
    assert sorted(each.name for each in killed.glob("checkpoints/*")) == [str(8 * KILLS - 1), str(8 * KILLS), "latest"]
