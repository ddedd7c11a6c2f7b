"""Training steps: a module with state, on one device or divided over many."""

import collections
import re

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from kaon_player.module import load_module

COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")


def replicated(name, shape, count):
    """The partition of state that every device holds."""
    return PartitionSpec()


def fully_sharded(name, shape, count):
    """The partition of state along its greatest axis that the number of devices divides."""
    axes = [axis for axis, size in enumerate(shape) if size % count == 0]
    if not axes:
        return PartitionSpec()
    axis = max(axes, key=lambda each: shape[each])
    return PartitionSpec(*[None] * axis, "data")


class Step:
    """A module that `toStableHlo` has written, with its description (`meta`).

    Batches are divided over the devices along the axes that `batch_axes` gives by input (0 unless said, None for
    none), state as `partition(name, shape, devices)` says. Calls take state and feeds by name, and return the outputs
    that are no state, and the state for the next call. State that is passed in is given up.
    """

    def __init__(self, text, meta, devices=None, partition=replicated, batch_axes=None):
        devices = jax.devices()[:1] if devices is None else devices
        self.mesh = Mesh(np.array(devices), ("data",))
        self.inputs = meta["inputs"]
        self.outputs = [each["name"] for each in meta["outputs"]]
        self.feeds = [each["name"] for each in self.inputs if each["kind"] == "input"]
        self.kept = [each["name"] for each in self.inputs if each["kind"] != "input"]
        nexts = {each["next"]: each["name"] for each in self.inputs if each["next"]}
        count = len(devices)
        axes = batch_axes or {}
        self.shardings = {}
        for each in self.inputs:
            name, shape = each["name"], each["shape"]
            if each["kind"] != "input":
                spec = partition(name, shape, count)
            else:
                axis = axes.get(name, 0)
                divides = axis is not None and len(shape) > axis and shape[axis] % count == 0
                spec = PartitionSpec(*[None] * axis, "data") if divides else PartitionSpec()
            self.shardings[name] = NamedSharding(self.mesh, spec)
        main = load_module(text)

        def run(state, feeds):
            arguments = {**state, **feeds}
            results = main(*[arguments[each["name"]] for each in self.inputs])
            named = dict(zip(self.outputs, results))
            after = {nexts[name]: value for name, value in named.items() if name in nexts}
            returned = {name: value for name, value in named.items() if name not in nexts}
            return returned, {**state, **after}

        state = {name: self.shardings[name] for name in self.kept}
        feeds = {name: self.shardings[name] for name in self.feeds}
        self._run = jax.jit(
            run, in_shardings=(state, feeds), out_shardings=(None, state), donate_argnums=0
        )

    def place(self, arrays):
        """Arrays by name, on the devices where calls want them."""
        return {name: jax.device_put(array, self.shardings[name]) for name, array in arrays.items()}

    def __call__(self, state, feeds):
        return self._run(self.place(state), self.place(feeds))

    def collectives(self):
        """Counts of the collective operations in the compiled step, and of those among them that loops repeat."""
        types = {each["name"]: each for each in self.inputs}
        shapes = [
            {name: jax.ShapeDtypeStruct(types[name]["shape"], types[name]["dtype"]) for name in names}
            for names in (self.kept, self.feeds)
        ]
        text = self._run.lower(*shapes).compile().as_text()
        bodies = set(re.findall(r"(?:body|condition)=%?([\w.-]+)", text))
        found, repeated, inside = collections.Counter(), collections.Counter(), False
        for line in text.splitlines():
            if line and not line[0].isspace():
                inside = line.removeprefix("ENTRY ").lstrip("%").split(" ")[0] in bodies
            match = re.search(rf" ({'|'.join(COLLECTIVES)})(?:-start)?\(", line)
            if match:
                found[match[1]] += 1
                repeated[match[1]] += inside
        return dict(found), {kind: count for kind, count in repeated.items() if count}
