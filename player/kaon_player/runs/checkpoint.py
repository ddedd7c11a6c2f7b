"""Checkpoints: each process writes what its devices hold, and the folder gets its name when all of it is there.

checkpoints/STEP/checkpoint.json        step, program, run, types of all tensors
checkpoints/STEP/process-P.json         pieces that the process P wrote in that step and run, with places and checksums
checkpoints/STEP/process-P.safetensors  the pieces
checkpoints/latest                      the newest STEP
"""

import hashlib
import json
import math
import shutil
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from kaon_player.data.dtypes import DTYPES
from kaon_player.data.tensors import Array, open_tensors, replace_file, write_tensors
from kaon_player.errors import CheckpointError, DataError
from kaon_player.jobs.job import Job
from kaon_player.runs.peers import Process

Index = tuple[slice, ...]


@dataclass(frozen=True)
class Piece:
    """A part of a tensor: where it lies in the whole, and its elements."""

    start: tuple[int, ...]
    stop: tuple[int, ...]
    checksum: int
    values: Array


def program_hash(job: Job) -> str:
    """Digest of all that decides what steps compute and on which examples."""
    parts = [job.step.text, str(job.seed), str(job.batch)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class Writer:
    """Writes checkpoints in a thread of its own, one at a time."""

    def __init__(self, job: Job, process: Process) -> None:
        self._folder = job.folder / "checkpoints"
        self._hash = program_hash(job)
        self._keep = job.keep
        self._process = process
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def clean(self) -> None:
        """Removes what interrupted writers have left."""
        for each in self._folder.glob("*.partial"):
            shutil.rmtree(each)
        for each in self._folder.glob(".latest.*"):
            each.unlink()

    def save(self, step: int, state: Mapping[str, jax.Array]) -> None:
        """Copies the state from the devices, and writes it while the next steps run."""
        self.wait()
        pieces = {
            name: [
                (shard.index, np.array(shard.data, copy=True))
                for shard in array.addressable_shards
                if shard.replica_id == 0
            ]
            for name, array in state.items()
        }
        types = {name: (array.dtype.name, tuple(array.shape)) for name, array in state.items()}
        self._thread = threading.Thread(target=self._run, args=(step, pieces, types), name="checkpoint")
        self._thread.start()

    def wait(self) -> None:
        """Waits for the checkpoint that is being written. Raises its error."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._error is not None:
            raise self._error

    def _run(
        self,
        step: int,
        pieces: Mapping[str, list[tuple[Index, Array]]],
        types: Mapping[str, tuple[str, tuple[int, ...]]],
    ) -> None:
        try:
            self._write(step, pieces, types)
        except Exception as error:  # raised by the call that waits
            self._error = error

    def _write(
        self,
        step: int,
        pieces: Mapping[str, list[tuple[Index, Array]]],
        types: Mapping[str, tuple[str, tuple[int, ...]]],
    ) -> None:
        partial = self._folder / f"{step}.{self._process.run}.partial"
        partial.mkdir(parents=True, exist_ok=True)
        name = f"process-{self._process.index}"
        stored: dict[str, tuple[str, tuple[int, ...]]] = {}
        values: list[Array] = []
        listed: list[dict[str, object]] = []
        for tensor, parts in pieces.items():
            for number, (index, value) in enumerate(parts):
                ranges = [each.indices(size)[:2] for each, size in zip(index, types[tensor][1], strict=True)]
                key = f"{tensor}@{number}"
                stored[key] = (types[tensor][0], value.shape)
                values.append(value)
                listed.append(
                    {
                        "tensor": tensor,
                        "key": key,
                        "start": [start for start, _ in ranges],
                        "stop": [stop for _, stop in ranges],
                        "crc32": zlib.crc32(np.ascontiguousarray(value).tobytes()),
                    }
                )
        write_tensors(partial / f"{name}.safetensors", stored, values)
        written = {"step": step, "run": self._process.run, "pieces": listed}
        replace_file(partial / f"{name}.json", json.dumps(written))
        if self._process.index == 0:
            self._complete(step, partial, types)

    def _complete(self, step: int, partial: Path, types: Mapping[str, tuple[str, tuple[int, ...]]]) -> None:
        """Gives the folder its name once every process has written its part."""
        waiting = [partial / f"process-{index}.json" for index in range(self._process.count)]
        # Ends: a process that is gone is noticed by the others, who end this one.
        while waiting := [each for each in waiting if not each.exists()]:
            time.sleep(0.05)
        described = {
            "version": 1,
            "step": step,
            "program": self._hash,
            "run": self._process.run,
            "processes": self._process.count,
            "tensors": {name: {"dtype": dtype, "shape": list(shape)} for name, (dtype, shape) in types.items()},
        }
        replace_file(partial / "checkpoint.json", json.dumps(described))
        final = self._folder / str(step)
        if final.exists():  # whole, but the run ended before `latest` named it
            final.rename(self._folder / f"{step}.{self._process.run}.replaced.partial")
        partial.rename(final)
        replace_file(self._folder / "latest", f"{step}\n")
        # Later ones are there when a user went back to an older one; those are replaced as their steps come.
        earlier = sorted(each for each in steps_of(self._folder) if each <= step)
        for old in earlier[: -self._keep]:
            shutil.rmtree(self._folder / str(old))
        for each in self._folder.glob("*.replaced.partial"):
            shutil.rmtree(each)


def steps_of(folder: Path) -> list[int]:
    """Steps of the whole checkpoints in a folder."""
    return [int(each.name) for each in folder.glob("*") if each.name.isdigit() and each.is_dir()]


def open_latest(job: Job) -> "Checkpoint | None":
    """The newest checkpoint of a job, checked but for the elements; None where there is none.

    Raises CheckpointError when it is of another program, or something of it is missing or truncated.
    """
    folder = job.folder / "checkpoints"
    latest = folder / "latest"
    if latest.exists():
        text = latest.read_text(encoding="utf-8").strip()
        if not text.isdigit() or not (folder / text).is_dir():
            raise CheckpointError(
                f"{latest}: names {text!r}, which is no checkpoint; to go on from another one, write its step there"
            )
        return Checkpoint(job, folder / text)
    steps = steps_of(folder)
    return Checkpoint(job, folder / str(max(steps))) if steps else None


class Checkpoint:
    """A whole checkpoint, its files mapped into memory."""

    def __init__(self, job: Job, folder: Path) -> None:
        self.folder = folder
        described = self._json("checkpoint.json")
        try:
            self.step = int(described["step"])
            self._run = str(described["run"])
            processes = int(described["processes"])
            program = described["program"]
            self.types = {name: (each["dtype"], tuple(each["shape"])) for name, each in described["tensors"].items()}
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._damaged("checkpoint.json", error) from None
        if program != program_hash(job):
            raise CheckpointError(
                f"{folder}: is a checkpoint of another program, seed or batch size; "
                f"to begin anew, remove {folder.parent}"
            )
        wanted = {each.name: (each.dtype, each.shape) for each in job.state}
        if self.types != wanted:
            raise CheckpointError(f"{folder}: has other state than the job; to begin anew, remove {folder.parent}")
        self._pieces: dict[str, list[Piece]] = {name: [] for name in self.types}
        for process in range(processes):
            self._open(f"process-{process}")
        for name, (_, shape) in self.types.items():
            there = sum(each.values.size for each in self._pieces[name])
            if there != math.prod(shape):
                raise CheckpointError(f"{folder}: has {there} of the {math.prod(shape)} elements of {name}")

    def _json(self, name: str) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self.folder / name).read_text(encoding="utf-8"))
            return found
        except (OSError, ValueError) as error:
            raise self._damaged(name, error) from None

    def _damaged(self, name: str, error: Exception) -> CheckpointError:
        return CheckpointError(f"{self.folder / name}: is missing or damaged: {error!r}; {self._advice()}")

    def _advice(self) -> str:
        others = [str(each) for each in sorted(steps_of(self.folder.parent)) if each != int(self.folder.name)]
        if not others:
            return f"to begin anew, remove {self.folder.parent}"
        latest = self.folder.parent / "latest"
        return f"to go on from an older checkpoint ({', '.join(others)}), write its step into {latest}"

    def _open(self, name: str) -> None:
        listed = self._json(f"{name}.json")
        try:
            origin, pieces = (int(listed["step"]), str(listed["run"])), list(listed["pieces"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged(f"{name}.json", error) from None
        if origin != (self.step, self._run):
            raise CheckpointError(
                f"{self.folder / name}.json: is of step {origin[0]} of the run {origin[1]}, "
                f"not of step {self.step} of the run {self._run}; {self._advice()}"
            )
        file = self.folder / f"{name}.safetensors"
        try:
            tensors = open_tensors(file)
            for each in pieces:
                values = tensors[each["key"]]
                piece = Piece(tuple(each["start"]), tuple(each["stop"]), int(each["crc32"]), values)
                extents = tuple(stop - start for start, stop in zip(piece.start, piece.stop, strict=True))
                if extents != values.shape or values.dtype != DTYPES[self.types[each["tensor"]][0]]:
                    raise DataError(f"{file}: {each['key']} is {values.shape}, not {extents}")
                self._pieces[each["tensor"]].append(piece)
        except (DataError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"a shard is missing or truncated: {error}; {self._advice()}") from None

    def read(self, name: str, index: Index | None = None) -> Array:
        """A part of a tensor, from the pieces that it overlaps. Raises CheckpointError for damaged elements."""
        dtype, shape = self.types[name]
        ranges = [(0, size) for size in shape]
        if index is not None:
            ranges = [each.indices(size)[:2] for each, size in zip(index, shape, strict=True)]
        result = np.empty([stop - start for start, stop in ranges], DTYPES[dtype])
        for piece in self._pieces[name]:
            both = [
                (max(a, start), min(b, stop))
                for (a, b), start, stop in zip(ranges, piece.start, piece.stop, strict=True)
            ]
            if any(low >= high for low, high in both):
                continue
            if zlib.crc32(piece.values.tobytes()) != piece.checksum:
                raise CheckpointError(f"{self.folder}: elements of {name} are damaged; {self._advice()}")
            into = tuple(slice(low - a, high - a) for (low, high), (a, _) in zip(both, ranges, strict=True))
            out = tuple(slice(low - s, high - s) for (low, high), s in zip(both, piece.start, strict=True))
            result[into] = piece.values[out]
        return result

    def restore(self, name: str, sharding: jax.sharding.Sharding) -> jax.Array:
        """A tensor on its devices, whatever mesh wrote it."""
        return jax.make_array_from_callback(self.types[name][1], sharding, lambda index: self.read(name, index))


def gather(job: Job, checkpoint: Checkpoint) -> Path:
    """Writes the state of a checkpoint as one file, under the names of Kaon; one tensor is in memory at a time."""
    final = job.folder / "final.safetensors"
    temporary = final.with_name(f".{final.name}")
    values: Iterator[Array] = (checkpoint.read(name) for name in checkpoint.types)
    write_tensors(temporary, checkpoint.types, values)
    temporary.replace(final)
    return final
