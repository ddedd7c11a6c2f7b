"""Jobs that are wrong: refused before the first step, by a message that says where and what."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import change_job, start, write_small_job
from safetensors.numpy import save_file
from test_parity import free_port

from kaon_player.cli import main
from kaon_player.errors import CheckpointError, DataError, JobError
from kaon_player.explain import check
from kaon_player.runs.distributed import Launch
from kaon_player.runs.running import run


def set_at(*path: str | int, to: object) -> Callable[[dict[str, Any]], None]:
    """A change of one value of a job."""

    def change(job: dict[str, Any]) -> None:
        place: Any = json.loads(json.dumps(job))
        job.clear()
        job.update(place)
        place = job
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to

    return change


INPUTS = ("programs", "step", "meta", "inputs")

# A change, the path that the message names, and what it says.
WRONG: list[tuple[Callable[[dict[str, Any]], None], str, str]] = [
    (set_at("version", to=2), "version", "knows version 1, not 2"),
    (set_at("programs", "step", "meta", "version", to=2), "programs.step.meta.version", "knows version 1, not 2"),
    (set_at("programs", "step", "file", to="a\0b"), "programs.step.file", "is no name of a file"),
    (set_at("stepz", to=2), "stepz", "is not known here"),
    (set_at("steps", to=0), "steps", "an integer of at least 1, not 0"),
    (set_at("steps", to="ten"), "steps", 'not "ten"'),
    (set_at("programs", "step", "file", to="../step.mlir"), "programs.step.file", "inside of the job's folder"),
    (set_at("programs", "step", "file", to="none.mlir"), "programs.step.file", "there is no file"),
    (set_at(*INPUTS, 1, "dtype", to="float31"), "programs.step.meta.inputs[1].dtype", "must be one of"),
    (set_at(*INPUTS, 1, "next", to="count.next"), "programs.step.meta.inputs[1].next", "has the type of w"),
    (set_at("state", to="none.safetensors"), "state", "there is no file"),
    (set_at("state", to=None), "the job", '"state" is missing'),
    (set_at("data", "kind", to="csv"), "data.kind", "must be one of safetensors, npz, parquet, module"),
    (set_at("data", "files", to=["data/*.npz"]), "data.files", "finds no file"),
    (set_at("data", "feeds", to={}), "data.feeds", "the input x gets no column"),
    (set_at("data", "feeds", "y", to="y"), "data.feeds.y", "the program has no input y"),
    (set_at("batchAxes", "y", to=0), "batchAxes.y", "no program has an input of this name"),
    (set_at("batchAxes", "x", to=2), "batchAxes.x", "the input has 2 axes"),
    (set_at("batch", to=5), "batch", "the step takes 4 rows of x"),
    (set_at("mesh", "data", to=3), "batch", "4 rows do not divide by 3"),
    (set_at("mesh", "model", to=8), "mesh", "takes 16 devices, there are 8"),
    (set_at("rules", to=[["^v$", "fsdp"]]), "rules[0]", "finds no state; there are w, count"),
    (set_at("rules", to=[["w", "fsdp"], ["^w$", "replicated"]]), "rules[1]", "the rule 0 comes before it for w"),
    (set_at("rules", to=[["(", "fsdp"]]), "rules[0][0]", "is no regular expression"),
    (set_at("rules", to=[["w", "all"]]), "rules[0][1]", "must be one of fsdp, replicated"),
    (set_at("rules", to=[["w", ["model"]]]), "rules[0]", 'the mesh has no axis "model"'),
    (set_at("rules", to=[["w", [None, "data"]]]), "rules[0]", "has 2 axes, w has 1"),
    (set_at("schedule", to={"rate": [0.5]}), "schedule.rate", "has 1 numbers for 10 steps"),
    (set_at("schedule", to={"w": [0.5]}), "schedule.w", "no argument of this name that is a single number"),
    (set_at("metrics", to=["accuracy"]), "metrics[0]", "it returns loss"),
    (set_at("checkpoint", "keep", to=0), "checkpoint.keep", "at least 1"),
    (set_at("evaluateData", to={}), "evaluateData", "there is no program that evaluates"),
    (set_at("programs", "draw", to={}), "programs.draw", "is not known here"),
]


@pytest.mark.parametrize(("change", "path", "text"), WRONG, ids=[f"{path}: {text}" for _, path, text in WRONG])
def test_entry_that_is_wrong_is_named_with_its_line(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], path: str, text: str
) -> None:
    folder = write_small_job(tmp_path / "job", change)
    with pytest.raises(JobError) as caught:
        run(folder, Launch())
    message = str(caught.value)
    assert f": {path}: " in message and text in message
    line = int(message.split("job.json:")[1].split(":")[0])
    if path != "the job":
        key = path.rstrip("]").split(".")[-1].split("[")[0]
        lines = (folder / "job.json").read_text().splitlines()
        # Elements of lists have lines of their own behind the key.
        assert any(f'"{key}"' in each for each in lines[:line]), (key, line)
        assert "[" in path or f'"{key}"' in lines[line - 1]
    assert not (folder / "checkpoints").exists()
    assert not (folder / "metrics.jsonl").exists()


def test_partition_that_does_not_divide_is_an_error(tmp_path: Path) -> None:
    folder = write_small_job(tmp_path / "job", set_at("rules", to=[["w", ["model"]]]))
    change_job(folder, mesh={"data": 2, "model": 4})
    with pytest.raises(JobError, match=r'2, axis 0 of w, does not divide by 4, the axis "model"'):
        run(folder, Launch())


@pytest.mark.parametrize("text", ["", "{", '{"version": 1,}', "[" * 100_000, '{"steps": NaN}', "9" * 5000])
def test_file_that_is_no_json_is_an_error(tmp_path: Path, text: str) -> None:
    folder = write_small_job(tmp_path / "job")
    (folder / "job.json").write_text(text)
    with pytest.raises(JobError, match=r"is not JSON|nested too deeply"):
        run(folder, Launch())


def test_entry_that_comes_twice_is_named_with_its_line(tmp_path: Path) -> None:
    folder = write_small_job(tmp_path / "job")
    file = folder / "job.json"
    file.write_text(file.read_text().replace("{", '{\n"mesh": {"data": 2},\n"mesh": {"data": 1},', 1))
    with pytest.raises(JobError, match=r"job\.json:\d+: mesh: comes twice"):
        run(folder, Launch())


def test_text_that_is_not_that_of_the_job_is_an_error(tmp_path: Path) -> None:
    folder = write_small_job(tmp_path / "job", set_at(*INPUTS, 3, "dtype", to="float64"))
    with pytest.raises(JobError, match=r"the argument rate of step is float32\[\] in the text, float64\[\] in the job"):
        check(folder)
    job = json.loads((folder / "job.json").read_text())
    job["programs"]["step"]["meta"]["inputs"].pop()
    (folder / "job.json").write_text(json.dumps(job))
    with pytest.raises(JobError, match=r"the text of step has 4 arguments, the job describes 3"):
        check(folder)
    (folder / "step.mlir").write_text("module {")
    with pytest.raises(JobError, match="the text of step cannot be read"):
        check(folder)


def test_command_prints_the_message_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path)]) == 1
    assert "there is no such file, so its folder is no job" in capsys.readouterr().err


TOGETHER = ["--coordinator", "localhost:1"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["explain", "--simulate", "0"], "--simulate: expected a whole number of at least 1, not '0'"),
        (["explain", "--simulate", "-8"], "--simulate: expected"),
        (["run", "--simulate", "two"], "--simulate: expected a whole number of at least 1, not 'two'"),
        (["run", "--timeout", "0"], "--timeout: expected a number of seconds greater than 0, not '0'"),
        (["run", "--timeout", "nan"], "--timeout: expected"),
        (["run", "--timeout", "soon"], "--timeout: expected"),
        (["run", *TOGETHER], "given together or not at all"),
        (["run", *TOGETHER, "--processes", "0", "--process", "0"], "--processes: expected"),
        (["run", *TOGETHER, "--processes", "2", "--process", "2"], "there is no process 2 of 2"),
    ],
)
def test_argument_that_is_wrong_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, str(write_small_job(tmp_path / "job"))])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("number", [0, 1])
def test_process_whose_peers_never_come_says_so(tmp_path: Path, number: int) -> None:
    folder = write_small_job(tmp_path / "job")
    address = f"localhost:{free_port()}"
    alone = ("--processes", "2", "--process", str(number), "--timeout", "2")
    process = start("run", str(folder), "--coordinator", address, *alone)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    # Releases of JAX differ: some raise an error, others end the process.
    assert re.search(r"error: the process.*(do not find each other|before it had met the others)", errors), errors
    assert not (folder / "metrics.jsonl").exists()


def damage_state(folder: Path, values: dict[str, np.ndarray[Any, Any]]) -> None:
    save_file(values, folder / "state.safetensors")


def test_state_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    folder = write_small_job(tmp_path / "job")
    damage_state(folder, {"w": np.zeros(2, np.float32), "count": np.array(0, np.int64)})
    with pytest.raises(DataError, match="there is no first value of rate"):
        run(folder, Launch())
    damage_state(folder, {"w": np.zeros(3, np.float32)})
    with pytest.raises(DataError, match=r"w is \(3,\) of float32, not \(2,\) of float32"):
        check(folder)


def test_data_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    folder = write_small_job(tmp_path / "job")
    file = folder / "data/b.safetensors"
    content = file.read_bytes()
    for size in (4, 20, len(content) - 1):
        file.write_bytes(content[:size])
        with pytest.raises(DataError, match=r"b\.safetensors: is "):
            run(folder, Launch())
    save_file({"x": np.zeros((4, 3), np.float32)}, file)
    with pytest.raises(DataError, match=r"rows of x have the shape \(3,\), x takes \(2,\)"):
        run(folder, Launch())
    save_file({"x": np.zeros((4, 2), np.float64)}, file)
    with pytest.raises(DataError, match="x is float64, x takes float32"):
        run(folder, Launch())
    save_file({"y": np.zeros((4, 2), np.float32)}, file)
    with pytest.raises(DataError, match="has no x; it has y"):
        run(folder, Launch())
    file.unlink()
    save_file({"x": np.zeros((3, 2), np.float32)}, folder / "data/a.safetensors")
    with pytest.raises(JobError, match="is 4, but there are only 3 examples"):
        run(folder, Launch())


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """A job with checkpoints after the steps 6 and 7."""
    folder = change_job(write_small_job(tmp_path / "job"), steps=7)
    run(folder, Launch())
    return change_job(folder, steps=10)


def test_checkpoint_of_another_program_is_refused(stopped: Path) -> None:
    text = (stopped / "step.mlir").read_text()
    (stopped / "step.mlir").write_text(text.replace("dense<1>", "dense<2>"))
    with pytest.raises(CheckpointError, match="of another program"):
        run(stopped, Launch())
    (stopped / "step.mlir").write_text(text)
    change_job(stopped, seed=2)
    with pytest.raises(CheckpointError, match="of another program, seed"):
        check(stopped)


@pytest.mark.parametrize(
    "way",
    [
        "truncated",
        "missing",
        "no list",
        "changed",
        "no checkpoint.json",
        "gone",
        "shard of another step",
        "shard and list of another step",
        "list without pieces",
        "checkpoint.json without a step",
        "checkpoint.json is a list",
    ],
)
def test_shard_that_is_damaged_is_an_error_before_anything_runs(stopped: Path, way: str) -> None:
    newest = stopped / "checkpoints/7"
    shard = newest / "process-0.safetensors"
    content = shard.read_bytes()
    if way == "truncated":
        shard.write_bytes(content[:-4])
    elif way == "missing":
        shard.unlink()
    elif way == "no list":
        (newest / "process-0.json").unlink()
    elif way == "changed":
        shard.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif way == "gone":
        shutil.rmtree(newest)
    elif way.endswith("of another step"):
        names = ["process-0.safetensors", "process-0.json"][: 2 if "list" in way else 1]
        for name in names:
            shutil.copy(stopped / "checkpoints/6" / name, newest / name)
    elif way == "list without pieces":
        (newest / "process-0.json").write_text('{"step": 7}')
    elif way == "checkpoint.json without a step":
        (newest / "checkpoint.json").write_text("{}")
    elif way == "checkpoint.json is a list":
        (newest / "checkpoint.json").write_text("[]")
    else:
        (newest / "checkpoint.json").unlink()
    before = (stopped / "metrics.jsonl").read_bytes()
    with pytest.raises(CheckpointError) as caught:
        run(stopped, Launch())
    assert "latest" in str(caught.value)  # says how to go on from an older one
    assert (stopped / "metrics.jsonl").read_bytes() == before
    assert json.loads((stopped / "status.json").read_text())["state"] == "failed"
    (stopped / "checkpoints/latest").write_text("6\n")
    assert run(stopped, Launch()) == "finished"


def test_checkpoint_that_is_not_whole_is_ignored(stopped: Path) -> None:
    (stopped / "checkpoints/7").rename(stopped / "checkpoints/8.abcd.partial")
    (stopped / "checkpoints/latest").unlink()
    assert "from step 6" in check(stopped)
    assert run(stopped, Launch()) == "finished"
    assert not list((stopped / "checkpoints").glob("*.partial"))
