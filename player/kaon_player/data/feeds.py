"""Feeds of each step, in the order that the job's seed decides."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from kaon_player.data.dtypes import DTYPES
from kaon_player.data.order import batch_rows
from kaon_player.data.sources import Batches, Rows, Table, open_module, row_shape
from kaon_player.data.tensors import Array
from kaon_player.errors import DataError
from kaon_player.jobs.job import DataSource, Job, Program

Feeds = Mapping[str, Array]
"""Values by input. Along the axis of examples only the rows that this process asked for."""


class TableFeeds:
    """Batches of files: each is a function of its number."""

    def __init__(self, table: Table, program: Program, axes: Mapping[str, int], order: Callable[[int], Rows]) -> None:
        self._table = table
        self._names = [each.name for each in program.feeds]
        self._axes = axes
        self._order = order

    def start(self, first: int, rows: Rows) -> Iterator[Feeds]:
        """Batches from a number on, of each the rows at some positions."""
        number = first
        while True:
            chosen = self._order(number)[rows]
            yield {
                name: self._table.read(name, chosen) if name in self._axes else self._table.whole(name)
                for name in self._names
            }
            number += 1


class ModuleFeeds:
    """Batches of a module."""

    def __init__(self, folder: Path, source: DataSource, program: Program, axes: Mapping[str, int]) -> None:
        self._function = open_module(folder, source)
        self._source = source
        self._program = program
        self._axes = axes

    def start(self, first: int, rows: Rows) -> Iterator[Feeds]:
        """Batches from a number on, of each the rows at some positions."""
        batches: Batches = iter(self._function(first, rows))
        for number, batch in enumerate(batches, first):
            yield {each: self._feed(batch, each, len(rows), number) for each in self._source.feeds}

    def _feed(self, batch: Mapping[str, Array], name: str, count: int, number: int) -> Array:
        column = self._source.feeds[name]
        argument = next(each for each in self._program.feeds if each.name == name)
        if column not in batch:
            raise DataError(f"{self._source.module}: batch {number} has no {column}; it has {', '.join(batch)}")
        value = np.asarray(batch[column])
        axis = self._axes.get(name)
        shape = argument.shape if axis is None else (count, *row_shape(argument, axis))
        if value.shape != shape or value.dtype != DTYPES[argument.dtype]:
            raise DataError(
                f"{self._source.module}: batch {number}: {column} is {value.shape} of {value.dtype}, "
                f"not {shape} of {argument.dtype}"
            )
        return value if axis is None else np.moveaxis(value, 0, axis)


Source = TableFeeds | ModuleFeeds


def training_feeds(job: Job) -> Source:
    """Feeds of the step. Raises for data that is missing, truncated, or less than one batch."""
    if job.data.kind == "module":
        return ModuleFeeds(job.folder, job.data, job.step, job.batch_axes)
    table = Table(job.folder, job.data, job.step.feeds, job.batch_axes)
    count = table.count
    if any(each.name in job.batch_axes for each in job.step.feeds) and count < job.batch:
        job.root.require("batch").fail(f"is {job.batch}, but there are only {count} examples")

    def order(step: int) -> Rows:
        return batch_rows(count, job.batch, job.seed, step) if count > 0 else np.empty(0, np.int64)

    return TableFeeds(table, job.step, job.batch_axes, order)


def evaluation_feeds(job: Job) -> tuple[Source, int | None] | None:
    """Feeds of the program that evaluates, and the number of batches: None for a module, until it ends."""
    program, source = job.evaluate, job.evaluate_data
    if program is None or source is None:
        return None
    if source.kind == "module":
        return ModuleFeeds(job.folder, source, program, job.batch_axes), None
    table = Table(job.folder, source, program.feeds, job.batch_axes)
    batch = evaluation_batch(job, program)
    if batch is not None and table.count < batch:
        source.field.fail(f"has {table.count} examples, a batch of evaluate has {batch}")

    def order(number: int) -> Rows:
        return np.arange(number * (batch or 0), (number + 1) * (batch or 0))

    count = 1 if batch is None else table.count // batch
    return TableFeeds(table, program, job.batch_axes, order), count


def evaluation_batch(job: Job, program: Program) -> int | None:
    """Examples in a batch of a program; None where no input has an axis of examples."""
    sizes = (each.shape[job.batch_axes[each.name]] for each in program.feeds if each.name in job.batch_axes)
    return next(sizes, None)
