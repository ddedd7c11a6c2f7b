"""The description of a job: `job.json`, read and checked."""

import math
import re
from dataclasses import dataclass
from pathlib import Path

from kaon_player.jobs.fields import Field, read_fields

DATA_AXIS = "data"
"""Axis of the mesh along which batches are divided."""

DTYPES = ("bool", "int8", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64")
KINDS = ("input", "array", "random", "number")


@dataclass(frozen=True)
class Argument:
    """An argument of a program. `next` is the result with its value for the next run."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    kind: str
    next: str | None


@dataclass(frozen=True)
class Result:
    """A result of a program."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """The text of a module, with its arguments and results in order."""

    text: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Result, ...]

    @property
    def feeds(self) -> tuple[Argument, ...]:
        """Arguments that every run is given."""
        return tuple(each for each in self.inputs if each.kind == "input")

    @property
    def state(self) -> tuple[Argument, ...]:
        """Arguments that are kept between runs."""
        return tuple(each for each in self.inputs if each.kind != "input")

    @property
    def returned(self) -> tuple[Result, ...]:
        """Results that are no state."""
        nexts = {each.next for each in self.inputs}
        return tuple(each for each in self.outputs if each.name not in nexts)


@dataclass(frozen=True)
class DataSource:
    """Files or a module with examples; `feeds` maps inputs to columns."""

    kind: str
    files: tuple[str, ...]
    module: str | None
    feeds: dict[str, str]
    field: Field


Partition = str | tuple[str | None, ...]
"""Division of an array over the mesh: `fsdp`, `replicated`, or the axis of the mesh for each axis of the array."""


@dataclass(frozen=True)
class Rule:
    """The partition of state whose name a regular expression finds."""

    pattern: re.Pattern[str]
    partition: Partition
    field: Field


@dataclass(frozen=True)
class Job:
    """All that a job says."""

    folder: Path
    programs: dict[str, Program]
    state_file: Path | None
    data: DataSource
    evaluate_data: DataSource | None
    batch: int
    batch_axes: dict[str, int]
    steps: int
    evaluate_every: int | None
    mesh: dict[str, int] | None
    rules: tuple[Rule, ...]
    schedule: dict[str, tuple[float, ...]]
    checkpoint_every: int
    keep: int
    seed: int
    metrics: tuple[str, ...]
    root: Field

    @property
    def step(self) -> Program:
        """The program of a step."""
        return self.programs["step"]

    @property
    def evaluate(self) -> Program | None:
        """The program that evaluates, if there is one."""
        return self.programs.get("evaluate")

    @property
    def state(self) -> tuple[Argument, ...]:
        """State of the job: that of the step, and what evaluate reads besides."""
        found = {each.name: each for each in (self.evaluate.state if self.evaluate else ())}
        found.update({each.name: each for each in self.step.state})
        return tuple(found.values())


KNOWN = (
    *("version", "programs", "state", "data", "evaluateData", "batch", "batchAxes", "steps", "evaluateEvery"),
    *("mesh", "rules", "schedule", "checkpoint", "seed", "metrics"),
)


def read_job(folder: Path) -> Job:
    """The job of a folder.

    Raises JobError, with the line of the file, for anything that the file alone shows to be wrong.
    """
    root = read_fields(folder / "job.json").only(*KNOWN)
    _check_version(root)
    described = root.require("programs").only("init", "step", "evaluate")
    described.require("step")
    programs = {name: _program(folder, field) for name, field in described.members()}
    steps = root.require("steps").integer(1)
    evaluate_data = root.get("evaluateData")
    evaluate_every = root.get("evaluateEvery")
    checkpoint = root.get("checkpoint")
    if checkpoint is not None:
        checkpoint.only("every", "keep")
    every = checkpoint.get("every") if checkpoint else None
    keep = checkpoint.get("keep") if checkpoint else None
    mesh = root.get("mesh")
    state = root.get("state")
    seed = root.get("seed")
    axes = root.get("batchAxes")
    rules = root.get("rules")
    job = Job(
        folder=folder,
        programs=programs,
        state_file=None if state is None else _inside(folder, state),
        data=_source(root.require("data"), programs["step"]),
        evaluate_data=None if evaluate_data is None else _evaluate_source(evaluate_data, programs),
        batch=root.require("batch").integer(1),
        batch_axes={} if axes is None else {name: field.integer(0) for name, field in axes.members()},
        steps=steps,
        evaluate_every=None if evaluate_every is None else evaluate_every.integer(1),
        mesh=None if mesh is None else {name: field.integer(1) for name, field in mesh.members()},
        rules=() if rules is None else rules.list_of(_rule),
        schedule=_schedule(root.get("schedule"), programs["step"], steps),
        checkpoint_every=steps if every is None else every.integer(1),
        keep=1 if keep is None else keep.integer(1),
        seed=0 if seed is None else seed.integer(0),
        metrics=_metrics(root.get("metrics"), programs["step"]),
        root=root,
    )
    _check_together(job)
    return job


def _check_version(field: Field) -> None:
    version = field.require("version")
    if version.integer(0) != 1:
        version.fail(f"this player knows version 1, not {version.shown()}; install a newer kaon-player")


def _inside(folder: Path, field: Field) -> Path:
    """A file of the job's folder."""
    if "\0" in field.text():
        field.fail(f"is no name of a file: {field.shown()}")
    file = folder / field.text()
    if not file.resolve().is_relative_to(folder.resolve()):
        field.fail(f"must be a file inside of the job's folder, not {field.shown()}")
    if not file.is_file():
        field.fail(f"there is no file {field.shown()} in the job's folder")
    return file


def _program(folder: Path, field: Field) -> Program:
    field.only("file", "meta")
    meta = field.require("meta").only("version", "inputs", "outputs")
    _check_version(meta)
    inputs = meta.require("inputs").list_of(_argument)
    outputs = meta.require("outputs").list_of(_result)
    for name, found in (("inputs", inputs), ("outputs", outputs)):
        names = [each.name for each in found]
        for index, each in enumerate(names):
            if each in names[:index]:
                meta.require(name).elements()[index].fail(f"the name {each} comes twice")
    types = {each.name: (each.dtype, each.shape) for each in outputs}
    for index, argument in enumerate(inputs):
        if argument.next is not None and types.get(argument.next) != (argument.dtype, argument.shape):
            place = meta.require("inputs").elements()[index].require("next")
            place.fail(f"no output of this name has the type of {argument.name}")
    return Program(_inside(folder, field.require("file")).read_text(encoding="utf-8"), inputs, outputs)


def _type(field: Field) -> tuple[str, str, tuple[int, ...]]:
    name = field.require("name").text()
    dtype = field.require("dtype").choice(*DTYPES)
    return name, dtype, field.require("shape").list_of(lambda each: each.integer(0))


def _argument(field: Field) -> Argument:
    field.only("name", "dtype", "shape", "kind", "next")
    after = field.get("next")
    return Argument(*_type(field), field.require("kind").choice(*KINDS), None if after is None else after.text())


def _result(field: Field) -> Result:
    return Result(*_type(field.only("name", "dtype", "shape")))


def _source(field: Field, program: Program) -> DataSource:
    field.only("kind", "files", "module", "feeds")
    kind = field.require("kind").choice("safetensors", "npz", "parquet", "module")
    files, module = field.get("files"), field.get("module")
    if kind == "module":
        if not re.fullmatch(r"[\w.]+:\w+", field.require("module").text()):
            field.require("module").fail('must be "module:function"')
    else:
        field.require("files")
    feeds = {name: each.text() for name, each in field.require("feeds").members()}
    names = [each.name for each in program.feeds]
    for name, each in field.require("feeds").members():
        if name not in names:
            each.fail(f"the program has no input {name}; its inputs are {', '.join(names)}")
    for name in names:
        if name not in feeds:
            field.require("feeds").fail(f"the input {name} gets no column")
    listed = () if files is None else files.list_of(Field.text)
    return DataSource(kind, listed, None if module is None else module.text(), feeds, field)


def _evaluate_source(field: Field, programs: dict[str, Program]) -> DataSource:
    if "evaluate" not in programs:
        field.fail("there is no program that evaluates")
    return _source(field, programs["evaluate"])


def _rule(field: Field) -> Rule:
    parts = field.elements()
    if len(parts) != 2:
        field.fail("a rule is a regular expression and a partition")
    try:
        pattern = re.compile(parts[0].text())
    except re.error as error:
        parts[0].fail(f"is no regular expression: {error}")
    if isinstance(parts[1].value, str):
        return Rule(pattern, parts[1].choice("fsdp", "replicated"), field)
    return Rule(pattern, parts[1].list_of(lambda each: None if each.value is None else each.text()), field)


def _schedule(field: Field | None, program: Program, steps: int) -> dict[str, tuple[float, ...]]:
    if field is None:
        return {}
    found = {}
    shapes = {each.name: each.shape for each in program.state}
    for name, table in field.members():
        if shapes.get(name) != ():
            table.fail("the step has no argument of this name that is a single number")
        found[name] = table.list_of(Field.number)
        if len(found[name]) != steps:
            table.fail(f"has {len(found[name])} numbers for {steps} steps")
    return found


def _metrics(field: Field | None, program: Program) -> tuple[str, ...]:
    scalars = [each.name for each in program.returned if math.prod(each.shape) == 1]
    if field is None:
        return tuple(scalars)
    for each in field.elements():
        if each.text() not in scalars:
            each.fail(f"the step returns no single number of this name; it returns {', '.join(scalars) or 'none'}")
    return field.list_of(Field.text)


def _check_together(job: Job) -> None:
    """Checks what several entries have to agree on."""
    axes = job.root.get("batchAxes")
    inputs = {each.name: each for each in job.step.feeds}
    others = {each.name: each for each in (job.evaluate.feeds if job.evaluate else ())}
    extent = 1 if job.mesh is None else job.mesh.get(DATA_AXIS, 1)
    for name, field in axes.members() if axes else ():
        if name not in inputs and name not in others:
            field.fail("no program has an input of this name")
        for each in (inputs.get(name), others.get(name)):
            if each is not None and job.batch_axes[name] >= len(each.shape):
                field.fail(f"the input has {len(each.shape)} axes")
        if name in inputs and inputs[name].shape[job.batch_axes[name]] != job.batch:
            size = inputs[name].shape[job.batch_axes[name]]
            job.root.require("batch").fail(f"is {job.batch}, but the step takes {size} rows of {name}")
    if job.batch % extent != 0:
        job.root.require("batch").fail(f'{job.batch} rows do not divide by {extent}, the mesh\'s axis "{DATA_AXIS}"')
    rows = {each.shape[job.batch_axes[name]] for name, each in others.items() if name in job.batch_axes}
    if len(rows) > 1:
        job.root.require("programs").require("evaluate").fail("its inputs have batches of several sizes")
    if any(size % extent for size in rows):
        job.root.require("programs").require("evaluate").fail(f"its {min(rows)} rows do not divide by {extent}")
    if job.evaluate is not None and (job.evaluate_every is not None) and job.evaluate_data is None:
        job.root.require("evaluateEvery").fail('needs "evaluateData"')
    if job.evaluate is not None:
        kept = {each.name: each for each in job.step.state}
        for each in job.evaluate.state:
            own = kept.get(each.name)
            if own is not None and (own.dtype, own.shape) != (each.dtype, each.shape):
                place = job.root.require("programs").require("evaluate")
                place.fail(f"its state {each.name} has another type than the step's")
    _check_init(job)


def _check_init(job: Job) -> None:
    init = job.programs.get("init")
    if init is None:
        if job.state_file is None:
            job.root.fail('"state" is missing: there is no program "init" that draws it')
        return
    place = job.root.require("programs").require("init")
    state = {each.name: (each.dtype, each.shape) for each in job.state}
    for each in init.inputs:
        if each.kind == "input":
            place.fail(f"the input {each.name} gets no value: init is fed nothing")
    for result in init.returned:
        if state.get(result.name) != (result.dtype, result.shape):
            place.fail(f"its output {result.name} is no state of the job with this type")
