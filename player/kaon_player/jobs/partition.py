"""Partitions of state, decided by the rules of a job."""

import math
from collections.abc import Mapping

from kaon_player.errors import JobError
from kaon_player.jobs.job import DATA_AXIS, Argument, Job, Rule

Axes = tuple[str | None, ...]
"""Axis of the mesh for each axis of an array; missing ones at the end are not divided."""


def owner(argument: Argument, state: Mapping[str, Argument]) -> Argument:
    """The parameter that an optimizer's state belongs to: `w` for `w/momentum`. The argument itself for others."""
    name = argument.name
    while "/" in name:
        name = name.rpartition("/")[0]
        if name in state:
            return state[name]
    return argument


def fully_sharded(shape: tuple[int, ...], extent: int) -> Axes:
    """The partition along the greatest axis that the extent of the data axis divides; none where there is none."""
    axes = [axis for axis, size in enumerate(shape) if size > 0 and size % extent == 0]
    if not axes:
        return ()
    axis = max(axes, key=lambda each: shape[each])
    return (*[None] * axis, DATA_AXIS)


def partitions(job: Job, mesh: Mapping[str, int]) -> dict[str, Axes]:
    """The partition of each argument that is state.

    The first rule that finds a parameter's name decides; state of an optimizer has the partition of its parameter
    where the shapes are equal. State that no rule finds is on every device.

    Raises JobError for a rule that finds nothing, or whose partition does not divide what it finds.
    """
    state = {each.name: each for each in job.state}
    used: set[int] = set()
    found: dict[str, Axes] = {}
    for name, argument in state.items():
        whose = owner(argument, state)
        if argument.kind != "array" or whose.shape != argument.shape:
            found[name] = ()
            continue
        index = next((i for i, rule in enumerate(job.rules) if rule.pattern.search(whose.name)), None)
        found[name] = () if index is None else _applied(job.rules[index], whose, mesh)
        if index is not None:
            used.add(index)
    for index, rule in enumerate(job.rules):
        if index not in used:
            rule.field.fail(_unused(rule, index, job))
    return found


def _unused(rule: Rule, index: int, job: Job) -> str:
    hidden = [each for each in job.state if each.kind == "array" and rule.pattern.search(each.name)]
    for each in hidden:
        for earlier, other in enumerate(job.rules[:index]):
            if other.pattern.search(each.name):
                return f"decides nothing: the rule {earlier} comes before it for {each.name}"
    names = ", ".join(each.name for each in job.state if each.kind == "array")
    return f"finds no state; there are {names}"


def _applied(rule: Rule, argument: Argument, mesh: Mapping[str, int]) -> Axes:
    shape, partition = argument.shape, rule.partition
    if partition == "replicated":
        return ()
    if isinstance(partition, str):
        if DATA_AXIS not in mesh:
            rule.field.fail(f'"fsdp" divides along the axis "{DATA_AXIS}", which the mesh lacks')
        return fully_sharded(shape, mesh[DATA_AXIS])
    if len(partition) > len(shape):
        rule.field.fail(f"has {len(partition)} axes, {argument.name} has {len(shape)}")
    for axis, name in enumerate(partition):
        if name is None:
            continue
        if name not in mesh:
            rule.field.fail(f'the mesh has no axis "{name}"; it has {", ".join(mesh)}')
        if partition.count(name) > 1:
            rule.field.fail(f'names the axis "{name}" twice')
        if shape[axis] % mesh[name] != 0:
            rule.field.fail(
                f"{shape[axis]}, axis {axis} of {argument.name}, does not divide by {mesh[name]}, "
                f'the axis "{name}" of the mesh'
            )
    return partition


def mesh_of(job: Job, devices: int, processes: int = 1) -> dict[str, int]:
    """Axes of the mesh: those of the job, or all devices as one data axis."""
    if job.mesh is None:
        if job.batch % devices != 0:
            raise JobError(
                f"{job.folder / 'job.json'}: {job.batch} rows of a batch do not divide by the {devices} devices; "
                f'give the job a "mesh" of fewer'
            )
        return {DATA_AXIS: devices}
    wanted = math.prod(job.mesh.values())
    field = job.root.require("mesh")
    if wanted > devices:
        field.fail(f"takes {wanted} devices, there are {devices}; give the run more, or --simulate {wanted}")
    if wanted < devices and processes > 1:
        field.fail(f"takes {wanted} of the {devices} devices, and each of the {processes} processes has to take part")
    return dict(job.mesh)
