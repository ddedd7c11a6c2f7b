"""Programs besides the step, schedules, constraints on activations, and reports."""

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from conftest import STEP, change_job, write_small_job
from safetensors.numpy import load_file, save_file

from kaon_player.cli import main
from kaon_player.errors import JobError
from kaon_player.explain import explain, gather
from kaon_player.jobs.job import Argument, Program, Result, read_job
from kaon_player.programs.module import load_module, with_constraints
from kaon_player.programs.program import MeshProgram, make_mesh, place
from kaon_player.runs.distributed import Launch
from kaon_player.runs.plan import make_plan
from kaon_player.runs.running import run

X = np.arange(20, dtype=np.float32).reshape(10, 2)


OPEN = """module {
func.func public @main(%0: tensor<?x2xf32>, %1: tensor<2xf32>) -> (tensor<?x2xf32>) {
  %2 = "stablehlo.get_dimension_size"(%0) {dimension = 0 : i64} : (tensor<?x2xf32>) -> tensor<i32>
  %3 = "stablehlo.reshape"(%2) : (tensor<i32>) -> tensor<1xi32>
  %4 = "stablehlo.constant"() {value = dense<2> : tensor<1xi32>} : () -> tensor<1xi32>
  %5 = "stablehlo.concatenate"(%3, %4) {dimension = 0 : i64} : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %6 = "stablehlo.dynamic_broadcast_in_dim"(%1, %5) {broadcast_dimensions = array<i64: 1>}
    : (tensor<2xf32>, tensor<2xi32>) -> tensor<?x2xf32>
  %7 = "stablehlo.custom_call"(%6, %5) {call_target_name = "kaon.shard", backend_config = "data,?", \
has_side_effect = false, indices_of_shape_operands = dense<1> : tensor<1xi64>} \
: (tensor<?x2xf32>, tensor<2xi32>) -> tensor<?x2xf32>
  %8 = "stablehlo.add"(%0, %7) : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  "func.return"(%8) : (tensor<?x2xf32>) -> ()
}
}
"""


def test_sizes_that_a_text_leaves_open_are_those_of_each_call() -> None:
    module = load_module(OPEN, make_mesh({"data": 2}))
    bias = np.array([1, 2], np.float32)
    for rows in (4, 2, 4):
        x = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)
        (found,) = jax.jit(module)(x, bias)
        np.testing.assert_array_equal(np.asarray(found), x + bias)
    with pytest.raises(JobError, match="sizes tensor<4x3xf32>,tensor<2xf32> do not fit"):
        jax.jit(module)(np.zeros((4, 3), np.float32), bias)
    with pytest.raises(JobError, match="does not divide by 2"):
        jax.jit(module)(np.zeros((3, 2), np.float32), bias)


def test_schedule_is_fed_step_by_step(tmp_path: Path) -> None:
    folder = write_small_job(tmp_path / "job")
    rates = [0.1 * step for step in range(10)]
    change_job(folder, schedule={"rate": rates})
    run(folder, Launch())
    plain = write_small_job(tmp_path / "plain")
    run(plain, Launch())
    lines = [json.loads(line)["metrics"]["loss"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
    others = [json.loads(line)["metrics"]["loss"] for line in (plain / "metrics.jsonl").read_text().splitlines()]
    parts = np.diff([0.0, *others]) / 0.5  # the rate of the plain job
    np.testing.assert_allclose(np.diff([0.0, *lines]), parts * rates, rtol=1e-5, atol=1e-5)
    assert load_file(folder / "final.safetensors")["rate"] == np.float32(rates[-1])


EVALUATE_META: dict[str, Any] = {
    "version": 1,
    "inputs": [
        {"name": "x", "dtype": "float32", "shape": [4, 2], "kind": "input", "next": None},
        {"name": "w", "dtype": "float32", "shape": [2], "kind": "array", "next": None},
        {"name": "seen", "dtype": "int64", "shape": [], "kind": "array", "next": "seen.next"},
        {"name": "factor", "dtype": "float32", "shape": [], "kind": "array", "next": None},
    ],
    "outputs": [
        {"name": "score", "dtype": "float32", "shape": []},
        {"name": "vector", "dtype": "float32", "shape": [2]},
        {"name": "seen.next", "dtype": "int64", "shape": []},
    ],
}


def test_evaluate_gives_means_and_changes_nothing(tmp_path: Path) -> None:
    folder = write_small_job(tmp_path / "job")
    (folder / "evaluate.mlir").write_text(STEP)
    save_file({"x": X}, folder / "data/c.safetensors")
    state = load_file(folder / "state.safetensors")
    more: dict[str, np.ndarray[Any, Any]] = {"seen": np.array(0, np.int64), "factor": np.array(2.0, np.float32)}
    save_file({**state, **more}, folder / "state.safetensors")
    job = json.loads((folder / "job.json").read_text())
    job["programs"]["evaluate"] = {"file": "evaluate.mlir", "meta": EVALUATE_META}
    job["evaluateData"] = {"kind": "safetensors", "files": ["data/c.*"], "feeds": {"x": "x"}}
    job["data"]["files"] = ["data/[ab].*"]
    change_job(folder, **job, evaluateEvery=5)
    run(folder, Launch())
    plain = write_small_job(tmp_path / "plain")
    run(plain, Launch())
    have, want = load_file(folder / "final.safetensors"), load_file(plain / "final.safetensors")
    assert all(have[name].tobytes() == want[name].tobytes() for name in want)
    assert have["seen"] == 0 and have["factor"] == 2.0
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    found = [line for line in lines if line["kind"] == "evaluate"]
    assert [line["step"] for line in found] == [5, 10]
    # Two whole batches of the ten examples, in their order.
    scores = [float((want["w"] - X[start : start + 4].sum(0) * 2).sum()) for start in (0, 4)]
    assert found[1]["metrics"] == {"score": pytest.approx(np.mean(scores))}


INIT = """
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<i64>) -> (tensor<2xf32>), sym_name = "main"}> ({
  ^bb0(%random: tensor<i64>):
    %f = "stablehlo.convert"(%random) : (tensor<i64>) -> tensor<f32>
    %w = "stablehlo.broadcast_in_dim"(%f) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2xf32>
    "func.return"(%w) : (tensor<2xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""


def test_init_draws_the_state_that_the_file_lacks(tmp_path: Path) -> None:
    folder = write_small_job(tmp_path / "job")
    (folder / "init.mlir").write_text(INIT)
    state = load_file(folder / "state.safetensors")
    del state["w"]
    save_file({**state, "count": np.array(7, np.int64)}, folder / "state.safetensors")
    job = json.loads((folder / "job.json").read_text())
    inputs: list[dict[str, Any]] = [{"name": "count", "dtype": "int64", "shape": [], "kind": "random", "next": None}]
    outputs: list[dict[str, Any]] = [{"name": "w", "dtype": "float32", "shape": [2]}]
    meta = {"version": 1, "inputs": inputs, "outputs": outputs}
    job["programs"]["init"] = {"file": "init.mlir", "meta": meta}
    change_job(folder, **job)
    run(folder, Launch())
    plain = write_small_job(tmp_path / "plain")
    run(plain, Launch())
    have, want = load_file(folder / "final.safetensors"), load_file(plain / "final.safetensors")
    np.testing.assert_array_equal(have["w"], want["w"] + 7)
    outputs[0]["name"] = "v"
    change_job(folder, **job)
    with pytest.raises(JobError, match="its output v is no state of the job"):
        run(folder, Launch())


CONSTRAINED = """
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<8x4xf32>) -> (tensor<8x4xf32>), sym_name = "main"}> ({
  ^bb0(%x: tensor<8x4xf32>):
    %a = "stablehlo.add"(%x, %x) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %b = "stablehlo.custom_call"(%a) {call_target_name = "kaon.shard", backend_config = "AXES", has_side_effect = false} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %c = "stablehlo.multiply"(%b, %b) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    "func.return"(%c) : (tensor<8x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""  # noqa: E501


@pytest.mark.parametrize(
    ("axes", "part"),
    [("data,model", (4, 2)), ("model,?", (4, 4)), ("?,model", (8, 2)), ("?,?", (8, 4)), ("other,?", (8, 4))],
)
def test_constraint_divides_an_activation(axes: str, part: tuple[int, int]) -> None:
    shape = (8, 4)
    program = Program(
        CONSTRAINED.replace("AXES", axes),
        (Argument("x", "float32", shape, "array", None),),
        (Result("y", "float32", shape),),
    )
    mesh = make_mesh({"data": 2, "model": 2})
    x = np.arange(32, dtype=np.float32).reshape(shape)
    compiled = MeshProgram(program, mesh, {}, {}, ["y"])
    results, _ = compiled({"x": place(x, compiled.state_shardings["x"])}, {})
    np.testing.assert_array_equal(np.asarray(results["y"]), (2 * x) ** 2)
    # The product is made of parts, which the result then gathers.
    found, _ = compiled.collectives()
    assert (found.get("all-gather", 0) > 0) == (part != shape)
    if part != shape:
        assert f"f32[{part[0]},{part[1]}]" in compiled.compiled.as_text()
    one = make_mesh({"data": 1})
    alone = MeshProgram(program, one, {}, {}, ["y"])
    results, _ = alone({"x": place(x, alone.state_shardings["x"])}, {})
    np.testing.assert_array_equal(np.asarray(results["y"]), (2 * x) ** 2)


def test_constraint_that_does_not_divide_is_an_error() -> None:
    text = CONSTRAINED.replace("AXES", "?,data")
    with pytest.raises(JobError, match=r"4, axis 1 of a shard\(\), does not divide by 3"):
        with_constraints(text, make_mesh({"data": 3}))


def test_explain_says_what_each_device_holds(tmp_path: Path) -> None:
    text = explain(write_small_job(tmp_path / "job"))
    assert "mesh: data 2; 2 devices" in text
    assert [line.split() for line in text.splitlines() if line.startswith("w ")] == [["w", "float32[2]", "[data]", "4"]]
    assert "state: 20 bytes, 16 on each device" in text
    counts, _ = make_plan(read_job(tmp_path / "job")).step.collectives()
    assert counts and all(f"{count} {kind}" in text for kind, count in counts.items())


def test_state_is_divided_on_its_devices(tmp_path: Path) -> None:
    plan = make_plan(read_job(write_small_job(tmp_path / "job")))
    w = next(each for each in plan.job.state if each.name == "w")
    array = jax.device_put(np.zeros(2, np.float32), plan.sharding(w))
    assert [shard.data.shape for shard in array.addressable_shards] == [(1,), (1,)]


def test_gather_writes_the_newest_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = change_job(write_small_job(tmp_path / "job"), steps=4)
    with pytest.raises(JobError, match="there is no checkpoint yet"):
        gather(folder)
    run(folder, Launch())
    before = (folder / "final.safetensors").read_bytes()
    (folder / "final.safetensors").unlink()
    assert main(["gather", str(folder)]) == 0
    assert "the state after step 4" in capsys.readouterr().out
    assert (folder / "final.safetensors").read_bytes() == before
    assert main(["check", str(folder)]) == 0
    assert "4 steps on 2 devices, would run from step 4" in capsys.readouterr().out
