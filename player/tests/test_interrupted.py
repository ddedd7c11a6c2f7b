"""Runs that are interrupted, and go on bit for bit."""

import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import change_job, copy_job, needs_jobs, start, write_small_job
from safetensors.numpy import load_file
from test_parity import FSDP, run_processes, start_processes

from kaon_player.errors import RunningError
from kaon_player.runs import records
from kaon_player.runs.distributed import Launch
from kaon_player.runs.running import run


def lines_of(folder: Path) -> dict[int, Any]:
    """Metrics by step; what came again after an interruption must be the same."""
    found: dict[int, Any] = {}
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        entry = json.loads(line)
        assert found.setdefault(entry["step"], entry["metrics"]) == entry["metrics"]
    return found


def wait_for_step(folder: Path, step: int) -> None:
    latest = folder / "checkpoints/latest"
    deadline = time.monotonic() + 120
    while not (latest.exists() and int(latest.read_text()) >= step):
        assert time.monotonic() < deadline, "no checkpoint"
        time.sleep(0.02)


def assert_same(folder: Path, other: Path) -> None:
    have, want = load_file(folder / "final.safetensors"), load_file(other / "final.safetensors")
    assert sorted(have) == sorted(want)
    for name, value in want.items():
        assert have[name].tobytes() == value.tobytes(), name
    assert lines_of(folder) == lines_of(other)


def slow_job(folder: Path, steps: int = 60) -> Path:
    """The small job with a module that waits between batches, so that signals find it at work."""
    write_small_job(folder)
    (folder / "slow.py").write_text(
        "import time\nimport numpy as np\n\n\n"
        "def batches(start, rows):\n"
        "    number = start\n"
        "    while True:\n"
        "        time.sleep(0.02)\n"
        "        yield {'x': np.random.default_rng(number).normal(size=(4, 2)).astype(np.float32)[rows]}\n"
        "        number += 1\n"
    )
    data = {"kind": "module", "module": "slow:batches", "feeds": {"x": "x"}}
    return change_job(folder, data=data, steps=steps, checkpoint={"every": 1, "keep": 2})


def test_run_goes_on_after_each_step_bit_for_bit(tmp_path: Path) -> None:
    whole, parts = write_small_job(tmp_path / "whole"), write_small_job(tmp_path / "parts")
    run(whole, Launch())
    change_job(whole, steps=10)
    for step in range(1, 11):
        change_job(parts, steps=step)
        assert run(parts, Launch()) == "finished"
    assert_same(parts, whole)


@needs_jobs
def test_network_with_random_state_goes_on_on_another_mesh(tmp_path: Path) -> None:
    name = "MLP-with-dropout-and-Adam"
    whole = change_job(copy_job(name, tmp_path / "whole"), mesh={"data": 4}, rules=FSDP)
    parts = change_job(copy_job(name, tmp_path / "parts"), mesh={"data": 4}, rules=FSDP)
    run(whole, Launch())
    for steps in (1, 2, 3):
        change_job(parts, steps=steps)
        run(parts, Launch())
    assert_same(parts, whole)
    other = change_job(copy_job(name, tmp_path / "other"), mesh={"data": 4}, rules=FSDP, steps=2)
    run(other, Launch())
    change_job(other, mesh={"data": 2, "model": 2}, rules=[], steps=3)
    run(other, Launch())
    have, want = load_file(other / "final.safetensors"), load_file(whole / "final.safetensors")
    for key, value in want.items():
        np.testing.assert_allclose(have[key], value, rtol=1e-5, atol=1e-6, err_msg=key)


def test_run_tells_that_the_one_before_was_killed(tmp_path: Path) -> None:
    folder = slow_job(tmp_path / "job")
    process = start("run", str(folder))
    wait_for_step(folder, 5)
    process.kill()
    process.communicate(timeout=60)
    status = json.loads((folder / "status.json").read_text())
    assert status["state"] == "running"
    again = start("run", str(folder))
    output, errors = again.communicate(timeout=120)
    assert output == "finished\n", errors
    assert f"ended without a word, after step {status['step']}" in errors
    assert json.loads((folder / "status.json").read_text()) == {"state": "finished", "step": 60}


def test_second_run_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    folder = slow_job(tmp_path / "job", steps=2000)
    process = start("run", str(folder))
    wait_for_step(folder, 5)
    with pytest.raises(RunningError, match=f"process {process.pid} of .* runs this job"):
        run(folder, Launch())
    assert json.loads((folder / "status.json").read_text())["state"] == "running"
    process.terminate()
    output, errors = process.communicate(timeout=60)
    assert output == "stopped\n", errors


def test_run_of_another_host_is_known_by_its_signs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "BEAT", 0.2)
    file = tmp_path / "status.json"
    status = {"state": "running", "step": 7, "beat": 3, "host": "elsewhere", "pid": os.getpid()}
    file.write_text(json.dumps(status))
    begin = time.monotonic()
    assert records.ended_unseen(tmp_path) == 7
    assert time.monotonic() - begin >= 0.5
    beating = threading.Timer(0.1, lambda: file.write_text(json.dumps({**status, "beat": 4})))
    beating.start()
    with pytest.raises(RunningError, match="of elsewhere runs this job, at step 7"):
        records.ended_unseen(tmp_path)
    beating.join()
    file.write_text(json.dumps({"state": "stopped", "step": 7}))
    assert records.ended_unseen(tmp_path) is None


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_process_that_is_killed_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    whole, killed = slow_job(tmp_path / "whole"), slow_job(tmp_path / "killed")
    run(whole, Launch())
    for step in (5, 20):
        process = start("run", str(killed))
        wait_for_step(killed, step)
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
        if number == signal.SIGTERM:
            assert (process.returncode, output) == (0, "stopped\n"), errors
            status = json.loads((killed / "status.json").read_text())
            assert status["state"] == "stopped"
            assert status["step"] == int((killed / "checkpoints/latest").read_text())
            assert status["step"] < 60
    assert run(killed, Launch()) == "finished"
    assert_same(killed, whole)


def test_process_that_is_told_to_end_saves_between_checkpoints(tmp_path: Path) -> None:
    folder = change_job(slow_job(tmp_path / "job"), checkpoint={"every": 60, "keep": 1})
    process = start("run", str(folder))
    deadline = time.monotonic() + 60
    while not (folder / "metrics.jsonl").exists() or not (folder / "metrics.jsonl").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.terminate()
    output, errors = process.communicate(timeout=60)
    assert output == "stopped\n", errors
    assert 0 < int((folder / "checkpoints/latest").read_text()) < 60


def wait_for_end(started: list[subprocess.Popen[str]]) -> list[str]:
    return [each.communicate(timeout=120)[1] for each in started]


@pytest.mark.parametrize("victim", [0, 1])
def test_processes_say_which_one_is_gone_and_the_job_goes_on(tmp_path: Path, victim: int) -> None:
    whole, folder = slow_job(tmp_path / "whole"), slow_job(tmp_path / "job")
    run(whole, Launch())
    started = start_processes(folder, 2, 1, "--timeout", "5")
    wait_for_step(folder, 5)
    os.kill(started[victim].pid, signal.SIGKILL)
    errors = wait_for_end(started)
    assert started[1 - victim].returncode != 0
    status = json.loads((folder / "status.json").read_text())
    assert status["state"] == "failed"
    assert f"process {victim} of 2" in status["error"]
    assert f"process {victim} of 2" in errors[1 - victim]
    assert run_processes(folder, 2, 1) == ["finished\n"] * 2
    assert_same(folder, whole)


def test_process_that_the_system_ends_is_known_at_once(tmp_path: Path) -> None:
    folder = slow_job(tmp_path / "job")
    started = start_processes(folder, 2, 1, "--timeout", "60")
    wait_for_step(folder, 5)
    (file,) = (folder / "processes").glob("*/1.json")
    os.kill(json.loads(file.read_text())["pid"], signal.SIGKILL)
    begin = time.monotonic()
    errors = wait_for_end(started)
    assert time.monotonic() - begin < 30
    assert all(each.returncode == 1 for each in started)
    assert all("process 1 of 2" in each and "SIGKILL" in each for each in errors), errors


def test_all_processes_stop_after_the_same_step(tmp_path: Path) -> None:
    folder = slow_job(tmp_path / "job")
    started = start_processes(folder, 2, 1)
    wait_for_step(folder, 5)
    started[1].terminate()
    results = [each.communicate(timeout=120) for each in started]
    assert [output.splitlines()[-1] for output, _ in results] == ["stopped"] * 2, results
    status = json.loads((folder / "status.json").read_text())
    assert status == {"state": "stopped", "step": int((folder / "checkpoints/latest").read_text())}


def test_error_of_one_process_ends_the_others(tmp_path: Path) -> None:
    folder = slow_job(tmp_path / "job")
    text = (folder / "slow.py").read_text()
    (folder / "slow.py").write_text(text.replace("    while True:\n", "    while number < 8 or rows[0] == 0:\n"))
    started = start_processes(folder, 2, 1)
    errors = wait_for_end(started)
    assert all(each.returncode == 1 for each in started)
    assert "the data ends before step 9" in errors[1]
    assert "process 1 of 2" in errors[0] and "the data ends before step 9" in errors[0]
    assert "the data ends before step 9" in json.loads((folder / "status.json").read_text())["error"]


def test_step_that_was_evaluated_is_saved_when_told_to_end(tmp_path: Path) -> None:
    folder = slow_job(tmp_path / "job")
    job = json.loads((folder / "job.json").read_text())
    meta = json.loads(json.dumps(job["programs"]["step"]["meta"]))
    for each in meta["inputs"]:
        each["next"] = None
    job["programs"]["evaluate"] = {"file": "step.mlir", "meta": meta}
    (folder / "few.py").write_text(
        "import os, signal\nimport numpy as np\n\n\n"
        "def batches(start, rows):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    yield {'x': np.zeros((4, 2), np.float32)[rows]}\n"
    )
    job["evaluateData"] = {"kind": "module", "module": "few:batches", "feeds": {"x": "x"}}
    change_job(folder, **job, evaluateEvery=3)
    change_job(folder, checkpoint={"every": 60, "keep": 1})
    process = start("run", str(folder))
    output, errors = process.communicate(timeout=60)
    assert output == "stopped\n", errors
    assert (folder / "checkpoints/latest").read_text() == "3\n"
