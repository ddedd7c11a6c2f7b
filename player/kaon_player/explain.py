"""Reports about jobs."""

import math
from collections.abc import Iterator
from pathlib import Path

import jax

from kaon_player.data import feeds
from kaon_player.data.dtypes import DTYPES
from kaon_player.errors import JobError
from kaon_player.jobs.job import Argument, Job, read_job
from kaon_player.jobs.partition import partitions
from kaon_player.programs.module import check_signature
from kaon_player.programs.program import MeshProgram
from kaon_player.runs import checkpoint
from kaon_player.runs.plan import Plan, make_plan, stored_state


def check(folder: Path) -> str:
    """Checks a job, its data and its newest checkpoint as far as that needs no devices; raises what is wrong."""
    job = read_job(folder)
    mesh = {"data": 1} if job.mesh is None else job.mesh
    partitions(job, mesh)
    for name, program in job.programs.items():
        check_signature(name, program)
    stored_state(job)
    feeds.training_feeds(job)
    feeds.evaluation_feeds(job)
    newest = checkpoint.open_latest(job)
    if newest is not None:
        for name in newest.types:
            newest.read(name)
    devices = "any number of devices" if job.mesh is None else f"{math.prod(mesh.values())} devices"
    where = "from its first step" if newest is None else f"from step {newest.step}"
    return f"{folder}: {job.steps} steps on {devices}, would run {where}"


def gather(folder: Path) -> str:
    """Gathers the newest checkpoint into one file."""
    job = read_job(folder)
    newest = checkpoint.open_latest(job)
    if newest is None:
        raise JobError(f"{folder}: there is no checkpoint yet")
    return f"{checkpoint.gather(job, newest)}: the state after step {newest.step}"


def explain(folder: Path) -> str:
    """Partitions of the state, bytes of each device, and collective operations of the compiled programs."""
    plan = make_plan(read_job(folder))
    return "\n".join(_lines(plan.job, plan))


def bytes_of(argument: Argument) -> int:
    """Bytes of an argument."""
    return math.prod(argument.shape) * DTYPES[argument.dtype].itemsize


def _lines(job: Job, plan: Plan) -> Iterator[str]:
    axes = ", ".join(f"{name} {size}" for name, size in plan.mesh.shape.items())
    yield f"mesh: {axes}; {plan.mesh.devices.size} devices ({jax.devices()[0].device_kind})"
    yield ""
    yield from _table(
        ["state", "type", "partition", "bytes a device"],
        [
            [
                each.name,
                f"{each.dtype}{list(each.shape)}",
                _partition(plan, each),
                f"{_share(plan, each):,}",
            ]
            for each in job.state
        ],
    )
    total, share = sum(bytes_of(each) for each in job.state), sum(_share(plan, each) for each in job.state)
    yield ""
    yield f"state: {total:,} bytes, {share:,} on each device ({share / max(total, 1):.1%})"
    for name, program in (("step", plan.step), ("evaluate", plan.evaluate)):
        if program is not None:
            yield from _program(name, program)


def _partition(plan: Plan, argument: Argument) -> str:
    axes = plan.partition[argument.name]
    if not any(axes):
        return "replicated"
    return "[" + ", ".join(name or "-" for name in axes) + "]"


def _share(plan: Plan, argument: Argument) -> int:
    divisor: int = math.prod(plan.mesh.shape[name] for name in plan.partition[argument.name] if name is not None)
    return bytes_of(argument) // divisor


def _program(name: str, program: MeshProgram) -> Iterator[str]:
    found, repeated = program.collectives()
    yield ""
    if not found:
        yield f"{name}: no collective operations"
    else:
        counts = [
            f"{count} {kind}" + (f" ({repeated[kind]} in loops)" if kind in repeated else "")
            for kind, count in sorted(found.items())
        ]
        yield f"{name}: {', '.join(counts)}"
    for each in program.program.feeds:
        spec = program.feed_shardings[each.name].spec
        divided = ", ".join(str(axis or "-") for axis in spec) if any(spec) else "replicated"
        yield f"  feed {each.name}: {each.dtype}{list(each.shape)}, {divided}"
    memory = program.compiled.memory_analysis()
    if memory is not None:
        yield f"  temporary memory of a device: {memory.temp_size_in_bytes:,} bytes"


def _table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    for row in [head, *rows]:
        cells = [text.ljust(width) for text, width in zip(row[:-1], widths, strict=False)]
        yield "  ".join([*cells, row[-1].rjust(widths[-1])])
