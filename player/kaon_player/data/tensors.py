"""Files of tensors (safetensors), mapped into memory rather than read, and written without a second copy."""

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kaon_player.data.dtypes import DTYPES, SAFETENSORS
from kaon_player.errors import DataError

Array = npt.NDArray[Any]

_MOST_HEADER = 100_000_000
_NAMES = {dtype: name for name, dtype in SAFETENSORS.items()}


def open_tensors(file: Path) -> dict[str, Array]:
    """Tensors of a file by name, as read-only arrays over the file.

    Raises DataError for files that are missing, truncated or not of this format.
    """
    try:
        size = file.stat().st_size
        with file.open("rb") as opened:
            length = int.from_bytes(opened.read(8), "little")
            if size < 8 or length > min(size - 8, _MOST_HEADER):
                raise DataError(f"{file}: is truncated or no safetensors file: {size} bytes, header of {length}")
            header = json.loads(opened.read(length))
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise DataError(f"{file}: is no safetensors file: {error}") from None
    if not isinstance(header, dict):
        raise DataError(f"{file}: is no safetensors file: its header is no object")
    start = 8 + length
    content = np.memmap(file, np.uint8, "r", start, (size - start,)) if size > start else np.empty(0, np.uint8)
    return {name: _tensor(file, name, each, content) for name, each in header.items() if name != "__metadata__"}


def _tensor(file: Path, name: str, described: object, content: Array) -> Array:
    try:
        if not isinstance(described, dict):
            raise TypeError("its entry is no object")
        dtype = DTYPES[SAFETENSORS[described["dtype"]]]
        shape = tuple(int(each) for each in described["shape"])
        begin, end = (int(each) for each in described["data_offsets"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{file}: the tensor {name} is not described in a known way: {error}") from None
    if begin < 0 or end - begin != math.prod(shape) * dtype.itemsize or any(each < 0 for each in shape):
        raise DataError(f"{file}: the tensor {name} has {end - begin} bytes, {shape} of {dtype} take others")
    if end > content.size:
        raise DataError(f"{file}: is truncated: the tensor {name} ends at {end}, the file has {content.size} bytes")
    # A plain array over the mapped file: slices of it stay cheap.
    return (
        np.frombuffer(content, dtype, math.prod(shape), begin).reshape(shape) if end > begin else np.empty(shape, dtype)
    )


def write_tensors(file: Path, types: Mapping[str, tuple[str, tuple[int, ...]]], values: Iterable[Array]) -> None:
    """Writes tensors in the order of their types, one at a time, and makes sure that they have reached the disk."""
    entries: dict[str, object] = {}
    offset = 0
    for name, (dtype, shape) in types.items():
        size = math.prod(shape) * DTYPES[dtype].itemsize
        entries[name] = {"dtype": _NAMES[dtype], "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    with file.open("wb") as opened:
        opened.write(len(header).to_bytes(8, "little"))
        opened.write(header)
        for (dtype, shape), value in zip(types.values(), values, strict=True):
            if value.dtype != DTYPES[dtype] or value.shape != shape:
                raise ValueError(f"{value.shape} of {value.dtype} in the place of {shape} of {dtype}")
            opened.write(np.ascontiguousarray(value).tobytes())
        opened.flush()
        os.fsync(opened.fileno())


def replace_file(file: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(file)
