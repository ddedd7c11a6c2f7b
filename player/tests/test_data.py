"""Examples from every kind of file, and rows that a process reads of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import change_job, write_small_job
from pyarrow import parquet
from safetensors.numpy import load_file, save_file

from kaon_player.data.feeds import training_feeds
from kaon_player.data.order import batch_rows
from kaon_player.data.sources import Table
from kaon_player.errors import DataError, JobError
from kaon_player.jobs.job import Argument, read_job
from kaon_player.runs.distributed import Launch
from kaon_player.runs.running import run

X = np.arange(20, dtype=np.float32).reshape(10, 2)


def write_npz(folder: Path) -> None:
    np.savez(folder / "data/1.npz", x=X[:3])
    np.savez_compressed(folder / "data/2.npz", x=X[3:])


def write_parquet(folder: Path) -> None:
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(X[:7].ravel()), 2)
    parquet.write_table(pa.table({"x": fixed, "other": list(range(7))}), folder / "data/1.parquet", row_group_size=2)
    lists = pa.array(X[7:].tolist(), pa.list_(pa.float32()))
    parquet.write_table(pa.table({"x": lists}), folder / "data/2.parquet")


MODULE = """
import numpy as np
from pathlib import Path
from kaon_player.data.order import batch_rows

def batches(start, rows):
    x = np.arange(20, dtype=np.float32).reshape(10, 2)
    for number in range(start, 10):
        yield {"x": x[batch_rows(10, 4, 1, number)][rows]}
"""


def use(folder: Path, kind: str) -> Path:
    """Gives the small job its data in another form."""
    if kind == "safetensors":
        return folder
    if kind == "module":
        (folder / "of_a_module.py").write_text(MODULE)
        return change_job(folder, data={"kind": kind, "module": "of_a_module:batches", "feeds": {"x": "x"}})
    {"npz": write_npz, "parquet": write_parquet}[kind](folder)
    return change_job(folder, data={"kind": kind, "files": [f"data/*.{kind}"], "feeds": {"x": "x"}})


KINDS = ["safetensors", "npz", "parquet", "module"]


@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_those_of_the_order(tmp_path: Path, kind: str) -> None:
    job = read_job(use(write_small_job(tmp_path / "job"), kind))
    rows = np.array([1, 3])
    batches = training_feeds(job).start(3, rows)
    for step in range(3, 8):
        np.testing.assert_array_equal(next(iter(batches))["x"], X[batch_rows(10, 4, 1, step)][rows])


@pytest.mark.parametrize("kind", KINDS[1:])
def test_run_does_not_depend_on_the_kind(tmp_path: Path, kind: str) -> None:
    first, other = write_small_job(tmp_path / "first"), use(write_small_job(tmp_path / "other"), kind)
    run(first, Launch())
    run(other, Launch())
    want, have = load_file(first / "final.safetensors"), load_file(other / "final.safetensors")
    assert all(have[name].tobytes() == want[name].tobytes() for name in want)


def test_axis_of_examples_may_be_another_one(tmp_path: Path) -> None:
    def change(job: dict[str, Any]) -> None:
        job["batchAxes"] = {"x": 1}
        job["batch"], job["mesh"] = 2, {"data": 2}

    folder = write_small_job(tmp_path / "job", change)
    for each in ("a", "b"):
        (folder / f"data/{each}.safetensors").unlink()
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    save_file({"x": x}, folder / "data/a.safetensors")
    batch = next(iter(training_feeds(read_job(folder)).start(0, np.array([0, 1]))))
    np.testing.assert_array_equal(batch["x"], x[batch_rows(5, 2, 1, 0)].T)
    assert run(folder, Launch()) == "finished"


def test_input_without_examples_is_fed_whole(tmp_path: Path) -> None:
    folder = change_job(write_small_job(tmp_path / "job"), batchAxes={}, steps=2)
    for each in ("a", "b"):
        (folder / f"data/{each}.safetensors").unlink()
    save_file({"x": X[:4]}, folder / "data/a.safetensors")
    assert run(folder, Launch()) == "finished"
    np.testing.assert_array_equal(load_file(folder / "final.safetensors")["w"], -X[:4].sum(0))


def test_input_without_examples_has_all_of_it_in_one_file(tmp_path: Path) -> None:
    folder = change_job(write_small_job(tmp_path / "job"), batchAxes={}, steps=2)
    for each in ("a", "b"):
        save_file({"x": X[:4]}, folder / f"data/{each}.safetensors")
    with pytest.raises(JobError, match=r"feeds\.x: has no axis in batchAxes.* not .*a\.safetensors, .*b\.safetensors"):
        run(folder, Launch())
    (folder / "data/b.safetensors").unlink()
    save_file({"x": X[:5]}, folder / "data/a.safetensors")
    with pytest.raises(JobError, match=r"feeds\.x: .* takes \(4, 2\); .* has \(5, 2\)"):
        run(folder, Launch())


def test_single_number_is_fed_whole(tmp_path: Path) -> None:
    argument = Argument("x", "float32", (), "input", None)
    folder = write_small_job(tmp_path / "job")
    save_file({"rate": np.array(0.5, np.float32)}, folder / "data/a.safetensors")
    (folder / "data/b.safetensors").unlink()
    source = replace(read_job(folder).data, feeds={"x": "rate"})
    assert Table(folder, source, [argument], {}).whole("x") == np.float32(0.5)


def test_files_that_are_damaged_are_errors(tmp_path: Path) -> None:
    for kind in ("npz", "parquet"):
        folder = use(write_small_job(tmp_path / kind), kind)
        file = folder / f"data/2.{kind}"
        file.write_bytes(file.read_bytes()[:-30])
        with pytest.raises(DataError, match=f"2.{kind}: cannot be read as {kind}"):
            training_feeds(read_job(folder))


def test_rows_of_parquet_that_do_not_fit_are_errors(tmp_path: Path) -> None:
    folder = use(write_small_job(tmp_path / "job"), "parquet")
    for values, text in (
        ([[1.0], [2.0, 3.0, 4.0]], "different lengths"),
        ([[1.0, 2.0, 3.0]], "numbers in each row"),
        ([[1.0, 2.0], None], "missing values"),
    ):
        table = pa.table({"x": pa.array(values, pa.list_(pa.float32()))})
        parquet.write_table(table, folder / "data/2.parquet")
        source = training_feeds(read_job(folder))
        with pytest.raises(DataError, match=text):
            for _, _ in zip(range(20), source.start(0, np.arange(4)), strict=False):
                pass


def test_module_that_gives_other_arrays_is_an_error(tmp_path: Path) -> None:
    folder = use(write_small_job(tmp_path / "job"), "module")
    (folder / "wrong_batches.py").write_text(MODULE.replace("[rows]", ""))
    change_job(folder, data={"kind": "module", "module": "wrong_batches:batches", "feeds": {"x": "x"}})
    batches = training_feeds(read_job(folder)).start(0, np.array([0]))
    with pytest.raises(DataError, match=r"batch 0: x is \(4, 2\) of float32, not \(1, 2\) of float32"):
        next(iter(batches))
    change_job(folder, data={"kind": "module", "module": "no_such_module:batches", "feeds": {"x": "x"}})
    with pytest.raises(JobError, match=r"data\.module: cannot be imported"):
        training_feeds(read_job(folder))


def test_data_that_ends_is_an_error(tmp_path: Path) -> None:
    folder = change_job(use(write_small_job(tmp_path / "job"), "module"), steps=11)
    with pytest.raises(DataError, match="the data ends before step 11: there is no batch number 10"):
        run(folder, Launch())
