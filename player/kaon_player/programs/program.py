"""Programs on a mesh: compiled once, with their state divided over the devices."""

import collections
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from kaon_player.data.dtypes import DTYPES
from kaon_player.data.tensors import Array
from kaon_player.errors import JobError
from kaon_player.jobs.job import DATA_AXIS, Argument, Program
from kaon_player.jobs.partition import Axes
from kaon_player.programs.module import load_module

COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")

State = dict[str, jax.Array]


def make_mesh(axes: Mapping[str, int]) -> Mesh:
    """A mesh of the first devices."""
    shape = tuple(axes.values())
    devices = jax.devices()[: int(np.prod(shape))]
    if devices[0].platform == "cpu" or len(devices) < jax.device_count():
        return Mesh(np.array(devices).reshape(shape), tuple(axes))
    from jax.experimental import mesh_utils

    return Mesh(mesh_utils.create_device_mesh(shape, devices), tuple(axes))


def place(value: Array, sharding: NamedSharding) -> jax.Array:
    """An array of which every process has the whole value."""
    return jax.make_array_from_callback(value.shape, sharding, lambda index: value[index])


class MeshProgram:
    """A program compiled for a mesh.

    Calls take state and feeds by name, and give the results of the names in `returned`, and the state of the next
    call. State that is passed in is given up, unless the program `keeps_state`: then it returns none.
    """

    def __init__(
        self,
        program: Program,
        mesh: Mesh,
        partition: Mapping[str, Axes],
        batch_axes: Mapping[str, int],
        returned: Sequence[str],
        keeps_state: bool = False,
    ) -> None:
        self.program = program
        self.mesh = mesh
        self.batch_axes = batch_axes
        everywhere = NamedSharding(mesh, PartitionSpec())
        self.state_shardings = {
            each.name: NamedSharding(mesh, PartitionSpec(*partition.get(each.name, ()))) for each in program.state
        }
        self.feed_shardings = {each.name: NamedSharding(mesh, self._feed_partition(each)) for each in program.feeds}
        nexts = {each.next: each.name for each in program.inputs if each.next is not None}
        main = load_module(program.text, mesh)

        def run(state: State, feeds: State) -> tuple[State, State]:
            arguments = {**state, **feeds}
            results = main(*[arguments[each.name] for each in program.inputs])
            named = dict(zip((each.name for each in program.outputs), results, strict=True))
            after = {nexts[name]: value for name, value in named.items() if name in nexts}
            return {name: named[name] for name in returned}, {} if keeps_state else {**state, **after}

        self._jit = jax.jit(
            run,
            in_shardings=(self.state_shardings, self.feed_shardings),
            out_shardings=(
                dict.fromkeys(returned, everywhere),
                {} if keeps_state else self.state_shardings,
            ),
            donate_argnums=() if keeps_state else 0,
        )

    def _feed_partition(self, argument: Argument) -> PartitionSpec:
        axis = self.batch_axes.get(argument.name)
        if axis is None or DATA_AXIS not in self.mesh.shape:
            return PartitionSpec()
        return PartitionSpec(*[None] * axis, DATA_AXIS)

    @functools.cached_property
    def compiled(self) -> Any:
        """The compiled program."""
        types = (
            {each.name: jax.ShapeDtypeStruct(each.shape, DTYPES[each.dtype]) for each in arguments}
            for arguments in (self.program.state, self.program.feeds)
        )
        try:
            return self._jit.lower(*types).compile()
        except jax.errors.JaxRuntimeError as error:
            raise JobError(f"the program does not compile for this mesh: {error}") from error

    def rows(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Positions in the batch that devices of this process are fed."""
        found: set[int] = set()
        for each in self.program.feeds:
            axis = self.batch_axes.get(each.name)
            if axis is None:
                continue
            for index in self.feed_shardings[each.name].addressable_devices_indices_map(each.shape).values():
                assert index is not None  # there is an axis
                found.update(range(*index[axis].indices(each.shape[axis])))
        return np.array(sorted(found), np.int64)

    def feed(self, rows: np.ndarray[tuple[int], np.dtype[np.int64]], values: Mapping[str, Array]) -> State:
        """Feeds on their devices, of values that have only some positions of the batch."""
        return {each.name: self._feed(each, rows, values[each.name]) for each in self.program.feeds}

    def _feed(self, argument: Argument, rows: np.ndarray[tuple[int], np.dtype[np.int64]], value: Array) -> jax.Array:
        axis = self.batch_axes.get(argument.name)
        sharding = self.feed_shardings[argument.name]
        if axis is None:
            return place(value, sharding)

        def part(index: tuple[slice, ...] | None) -> Array:
            assert index is not None  # there is an axis
            start, stop, _ = index[axis].indices(argument.shape[axis])
            first = int(np.searchsorted(rows, start))
            own = (*index[:axis], slice(first, first + stop - start), *index[axis + 1 :])
            return np.ascontiguousarray(value[own])

        return jax.make_array_from_callback(argument.shape, sharding, part)

    def __call__(self, state: State, feeds: State) -> tuple[State, State]:
        """Runs the program once."""
        own = {each.name: state[each.name] for each in self.program.state}
        result: tuple[State, State] = self.compiled(own, feeds)
        return result

    def collectives(self) -> tuple[dict[str, int], dict[str, int]]:
        """Counts of the collective operations in the compiled program, and of those among them that loops repeat."""
        return count_collectives(self.compiled.as_text())


def count_collectives(text: str) -> tuple[dict[str, int], dict[str, int]]:
    """Counts of the collective operations in a compiled text, and of those among them that loops repeat."""
    bodies = set(re.findall(r"(?:body|condition)=%?([\w.-]+)", text))
    found: collections.Counter[str] = collections.Counter()
    repeated: collections.Counter[str] = collections.Counter()
    inside = False
    for line in text.splitlines():
        if line and not line[0].isspace():
            inside = line.removeprefix("ENTRY ").lstrip("%").split(" ")[0] in bodies
        match = re.search(rf" ({'|'.join(COLLECTIVES)})(?:-start)?\(", line)
        if match:
            found[match[1]] += 1
            repeated[match[1]] += inside
    return dict(found), {kind: count for kind, count in repeated.items() if count}
