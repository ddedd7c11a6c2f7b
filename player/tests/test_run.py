"""Runs of a small job in this process, against the same sums in NumPy."""

import json
from pathlib import Path

import numpy as np
from conftest import write_small_job
from safetensors.numpy import load_file

from kaon_player.data.order import batch_rows
from kaon_player.runs.distributed import Launch
from kaon_player.runs.running import run


def test_run_computes_what_the_text_says_in_the_order_of_the_seed(tmp_path: Path) -> None:
    folder = write_small_job(tmp_path / "job")
    assert run(folder, Launch()) == "finished"
    x, w, losses = np.arange(20, dtype=np.float32).reshape(10, 2), np.zeros(2, np.float32), []
    for step in range(10):
        w = w - x[batch_rows(10, 4, 1, step)].sum(0) * np.float32(0.5)
        losses.append(float(w.sum()))
    state = load_file(folder / "final.safetensors")
    np.testing.assert_array_equal(state["w"], w)
    assert state["count"] == 10 and state["rate"] == np.float32(0.5)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(1, 11))
    assert [line["metrics"]["loss"] for line in lines] == losses
    assert all(line["kind"] == "step" for line in lines)
    assert json.loads((folder / "status.json").read_text()) == {"state": "finished", "step": 10}
    assert sorted(each.name for each in (folder / "checkpoints").iterdir()) == ["10", "9", "latest"]
