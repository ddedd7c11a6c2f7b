"""A job made ready for a mesh: partitions decided, data opened, programs compiled when they are needed."""

from collections.abc import Mapping
from dataclasses import dataclass

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from kaon_player.data.dtypes import DTYPES
from kaon_player.data.tensors import Array, open_tensors
from kaon_player.errors import DataError
from kaon_player.jobs.job import Argument, Job
from kaon_player.jobs.partition import Axes, mesh_of, partitions
from kaon_player.programs.module import check_signature
from kaon_player.programs.program import MeshProgram, State, make_mesh, place
from kaon_player.runs.checkpoint import Checkpoint


@dataclass(frozen=True)
class Plan:
    """A job on a mesh."""

    job: Job
    mesh: Mesh
    partition: dict[str, Axes]
    step: MeshProgram
    evaluate: MeshProgram | None

    def sharding(self, argument: Argument) -> NamedSharding:
        """Sharding of state."""
        return NamedSharding(self.mesh, PartitionSpec(*self.partition[argument.name]))


def make_plan(job: Job) -> Plan:
    """The plan for all devices of the run. Raises JobError for rules and meshes that do not fit."""
    axes = mesh_of(job, jax.device_count(), jax.process_count())
    partition = partitions(job, axes)
    for name, program in job.programs.items():
        check_signature(name, program)
    mesh = make_mesh(axes)
    step = MeshProgram(job.step, mesh, partition, job.batch_axes, job.metrics)
    evaluate = None
    if job.evaluate is not None:
        names = [each.name for each in job.evaluate.returned if int(np.prod(each.shape)) == 1]
        evaluate = MeshProgram(job.evaluate, mesh, partition, job.batch_axes, names, keeps_state=True)
    return Plan(job, mesh, partition, step, evaluate)


def stored_state(job: Job) -> dict[str, Array]:
    """First values of the state that a file has. Raises DataError where a value is missing or of another type."""
    stored = {} if job.state_file is None else open_tensors(job.state_file)
    init = job.programs.get("init")
    drawn = set() if init is None else {each.name for each in init.returned}
    for each in job.state:
        if each.name in stored:
            found = stored[each.name]
            if (found.dtype, found.shape) != (DTYPES[each.dtype], each.shape):
                raise DataError(
                    f"{job.state_file}: {each.name} is {found.shape} of {found.dtype}, not {each.shape} of {each.dtype}"
                )
        elif each.name not in drawn:
            raise DataError(f"{job.state_file or job.folder}: there is no first value of {each.name}")
    return stored


def first_state(plan: Plan) -> State:
    """The state before the first step: from the file, and drawn where it will live."""
    job, stored = plan.job, stored_state(plan.job)
    drawn = _drawn(plan, stored)
    return {
        each.name: drawn[each.name] if each.name in drawn else place(stored[each.name], plan.sharding(each))
        for each in job.state
    }


def _drawn(plan: Plan, stored: Mapping[str, Array]) -> State:
    from kaon_player.programs.module import load_module

    init = plan.job.programs.get("init")
    if init is None:
        return {}
    given = [each for each in init.inputs if each.name not in stored]
    if given:
        raise DataError(f"{plan.job.state_file or plan.job.folder}: init needs a value of {given[0].name}")
    returned = {each.name for each in init.returned}
    arguments = {each.name: each for each in plan.job.state}
    main = load_module(init.text, plan.mesh)

    def draw(values: State) -> State:
        results = main(*[values[each.name] for each in init.inputs])
        named = zip((each.name for each in init.outputs), results, strict=True)
        return {name: value for name, value in named if name in returned}

    shardings = {name: plan.sharding(arguments[name]) for name in returned}
    everywhere = NamedSharding(plan.mesh, PartitionSpec())
    values = {each.name: place(stored[each.name], everywhere) for each in init.inputs}
    result: State = jax.jit(draw, out_shardings=shardings)(values)
    return result


def restored_state(plan: Plan, checkpoint: Checkpoint) -> State:
    """The state of a checkpoint."""
    return {each.name: checkpoint.restore(each.name, plan.sharding(each)) for each in plan.job.state}
