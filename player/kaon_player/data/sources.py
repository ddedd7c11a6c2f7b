"""Examples of a job: files read by row, or batches of a module."""

import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from glob import glob
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from kaon_player.data.dtypes import DTYPES
from kaon_player.data.tensors import Array, open_tensors
from kaon_player.errors import DataError
from kaon_player.jobs.job import Argument, DataSource

Rows = npt.NDArray[np.int64]

Content = Mapping[str, Array]
"""Arrays of a file by column."""


class Column(Protocol):
    """Examples along axis 0."""

    @property
    def count(self) -> int:
        """Number of examples."""

    def read(self, rows: Rows) -> Array:
        """Some of the examples."""


class Parts:
    """A column that lies in several arrays, one after another."""

    def __init__(self, parts: Sequence[Array]) -> None:
        self._parts = parts
        self._ends = np.cumsum([len(each) for each in parts])
        self.count = int(self._ends[-1])

    def read(self, rows: Rows) -> Array:
        """Some of the examples."""
        which = np.searchsorted(self._ends, rows, side="right")
        result = np.empty((len(rows), *self._parts[0].shape[1:]), self._parts[0].dtype)
        for index in np.unique(which):
            chosen = which == index
            first = self._ends[index] - len(self._parts[index])
            result[chosen] = self._parts[index][rows[chosen] - first]
        return result


class ParquetColumn:
    """A column of parquet files, decoded a group of rows at a time; the last groups are kept."""

    def __init__(self, files: Sequence[Path], name: str, argument: Argument, shape: tuple[int, ...]) -> None:
        self._open = _parquet(files)
        self._name = name
        self._shape = shape
        self._dtype = DTYPES[argument.dtype]
        self._groups: list[tuple[int, int]] = []
        sizes: list[int] = []
        for index, opened in enumerate(self._open):
            if name not in opened.schema_arrow.names:
                raise DataError(f"{files[index]}: has no column {name}; it has {', '.join(opened.schema_arrow.names)}")
            for group in range(opened.num_row_groups):
                self._groups.append((index, group))
                sizes.append(opened.metadata.row_group(group).num_rows)
        self._ends = np.cumsum(sizes)
        self.count = int(self._ends[-1]) if sizes else 0
        self._group = functools.lru_cache(maxsize=16)(self._decode)

    def _decode(self, index: int) -> Array:
        file, group = self._groups[index]
        table = self._open[file].read_row_group(group, columns=[self._name])
        column = table.column(0)
        flat = self._flatten(column.combine_chunks())
        if flat.dtype != self._dtype:
            raise DataError(f"the column {self._name} is {flat.dtype}, not {self._dtype}")
        try:
            rows: Array = flat.reshape((table.num_rows, *self._shape))
            return rows
        except ValueError as error:
            raise DataError(
                f"the column {self._name} does not have {self._shape} numbers in each row: {error}"
            ) from None

    def _flatten(self, values: Any) -> Array:
        """Numbers of a column, whose rows may be lists of lists; all of one length."""
        while True:
            if values.null_count > 0:
                raise DataError(f"the column {self._name} has missing values")
            if not hasattr(values.type, "value_type"):
                flat: Array = values.to_numpy(zero_copy_only=False)
                return flat
            if hasattr(values, "value_lengths") and len(np.unique(values.value_lengths().to_numpy())) > 1:
                raise DataError(f"the column {self._name} has lists of different lengths")
            values = values.flatten()

    def read(self, rows: Rows) -> Array:
        """Some of the examples."""
        which = np.searchsorted(self._ends, rows, side="right")
        result = np.empty((len(rows), *self._shape), self._dtype)
        for index in np.unique(which):
            chosen = which == index
            part = self._group(int(index))
            result[chosen] = part[rows[chosen] - (self._ends[index] - len(part))]
        return result


def _parquet(files: Sequence[Path]) -> list[Any]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise DataError("files of parquet need pyarrow: pip install kaon-player[parquet]") from None
    opened = []
    for file in files:
        try:
            opened.append(parquet.ParquetFile(file, memory_map=True))
        except Exception as error:  # pyarrow has many classes for files that are not whole
            raise DataError(f"{file}: cannot be read as parquet: {error}") from None
    return opened


def _files(folder: Path, source: DataSource) -> list[Path]:
    found: list[Path] = []
    for pattern in source.files:
        matches = sorted(glob(str(folder / pattern), recursive=True))
        if not matches:
            source.field.require("files").fail(f'"{pattern}" finds no file')
        found += [Path(each) for each in matches]
    if not found:
        source.field.require("files").fail("names no file")
    return found


def _npz(file: Path) -> Mapping[str, Array]:
    try:
        with np.load(file, allow_pickle=False) as opened:
            return {name: opened[name] for name in opened.files}
    except Exception as error:  # zipfile, zlib and numpy have many classes for files that are not whole
        raise DataError(f"{file}: cannot be read as npz: {error}") from None


class Table:
    """Columns of a source for the inputs of a program."""

    def __init__(
        self, folder: Path, source: DataSource, arguments: Sequence[Argument], axes: Mapping[str, int]
    ) -> None:
        files = _files(folder, source)
        self._axes = axes
        self._columns: dict[str, Column] = {}
        self._values: dict[str, Array] = {}
        read = open_tensors if source.kind == "safetensors" else _npz
        contents = [] if source.kind == "parquet" else [(file, read(file)) for file in files]
        for argument in arguments:
            name, column = argument.name, source.feeds[argument.name]
            shape = row_shape(argument, axes.get(name))
            if source.kind == "parquet":
                self._columns[name] = ParquetColumn(files, column, argument, shape)
            elif name in axes:
                self._columns[name] = Parts(
                    [_rows(file, content, column, argument, shape) for file, content in contents]
                )
            else:
                self._values[name] = _whole(source, contents, column, argument)
        counts = {name: self._columns[name].count for name in self._columns if name in axes}
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{count} of {name}" for name, count in counts.items())
            source.field.fail(f"inputs have different numbers of examples: {listed}")
        self.count = min(counts.values(), default=0)

    def read(self, name: str, rows: Rows) -> Array:
        """Examples of an input, with the batch along its own axis."""
        moved: Array = np.moveaxis(self._columns[name].read(rows), 0, self._axes[name])
        return moved

    def whole(self, name: str) -> Array:
        """The value of an input that has no axis of examples."""
        if name not in self._values:
            column = self._columns[name]
            self._values[name] = column.read(np.arange(column.count))
        return self._values[name]


def row_shape(argument: Argument, axis: int | None) -> tuple[int, ...]:
    """Shape of one example of an input, or of a row along axis 0 where it has no axis of examples."""
    axis = 0 if axis is None else axis
    return argument.shape[:axis] + argument.shape[axis + 1 :]


def _rows(file: Path, content: Content, column: str, argument: Argument, shape: tuple[int, ...]) -> Array:
    """Examples of an input in one file."""
    if column not in content:
        raise DataError(f"{file}: has no {column}; it has {', '.join(content) or 'nothing'}")
    found = content[column]
    if found.ndim == 0 or found.shape[1:] != shape:
        raise DataError(f"{file}: rows of {column} have the shape {found.shape[1:]}, {argument.name} takes {shape}")
    return _typed(file, found, column, argument)


def _whole(source: DataSource, contents: Sequence[tuple[Path, Content]], column: str, argument: Argument) -> Array:
    """The value of an input that has no axis of examples: one file has it."""
    having = [(file, content[column]) for file, content in contents if column in content]
    place = source.field.require("feeds").require(argument.name)
    if len(having) != 1:
        files = ", ".join(str(file) for file, _ in having) or "no file"
        place.fail(f"has no axis in batchAxes, so that one file has all of it, not {files}")
    file, found = having[0]
    if found.shape != argument.shape:
        place.fail(f"has no axis in batchAxes, so that it takes {argument.shape}; {file} has {found.shape}")
    return _typed(file, found, column, argument)


def _typed(file: Path, found: Array, column: str, argument: Argument) -> Array:
    if found.dtype != DTYPES[argument.dtype]:
        raise DataError(f"{file}: {column} is {found.dtype}, {argument.name} takes {argument.dtype}")
    return found


Batches = Iterator[Mapping[str, Array]]


def open_module(folder: Path, source: DataSource) -> Callable[[int, Rows], Batches]:
    """The function of a module that gives batches: takes the number of the first one, and the rows that are wanted."""
    module, _, function = (source.module or "").partition(":")
    place = source.field.require("module")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        place.fail(f"cannot be imported: {error}")
    if not callable(found):
        place.fail(f"{function} is no function")
    result: Callable[[int, Rows], Batches] = found
    return result
