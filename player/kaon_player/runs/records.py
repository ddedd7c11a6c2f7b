"""Files that tell how a run goes: metrics.jsonl and status.json."""

import json
import math
import os
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kaon_player.data.tensors import replace_file
from kaon_player.errors import RunningError

BEAT = 5.0
"""Seconds between two signs of life in status.json while a job runs."""


class Records:
    """Records of a run. Only one of its processes writes metrics."""

    def __init__(self, folder: Path, writes: bool) -> None:
        self._folder = folder
        self._writes = writes
        self._start = time.monotonic()
        self._step = 0
        self._beats = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        if writes:
            _end_line(folder / "metrics.jsonl")

    def metrics(self, step: int, kind: str, values: Mapping[str, object]) -> None:
        """Adds a line of metrics. What is no finite number is null, as JSON has no other."""
        self._step = step
        numbers = {name: float(np.asarray(value).reshape(())) for name, value in values.items()}
        if not self._writes:
            return
        line = {
            "step": step,
            "kind": kind,
            "time": round(time.monotonic() - self._start, 6),
            "metrics": {name: number if math.isfinite(number) else None for name, number in numbers.items()},
        }
        with (self._folder / "metrics.jsonl").open("a", encoding="utf-8") as opened:
            opened.write(json.dumps(line) + "\n")

    def running(self, step: int) -> None:
        """Replaces the status by signs of life, until it is replaced by another one."""
        self._step = step
        if not self._writes:
            return
        self._beat()
        if self._thread is None:
            self._thread = threading.Thread(target=self._keep_fresh, name="signs of life", daemon=True)
            self._thread.start()

    def ended(self, state: str, step: int) -> None:
        """Replaces the status by that of a run that has ended."""
        self._end_signs()
        self._step = step
        if self._writes:
            replace_file(self._folder / "status.json", json.dumps({"state": state, "step": step}))

    def _keep_fresh(self) -> None:
        while not self._ended.wait(BEAT):
            self._beat()

    def _beat(self) -> None:
        with self._lock:
            if self._ended.is_set():
                return
            self._beats += 1
            content = {"state": "running", "step": self._step, "beat": self._beats}
            content |= {"host": socket.gethostname(), "pid": os.getpid()}
            replace_file(self._folder / "status.json", json.dumps(content))

    def _end_signs(self) -> None:
        with self._lock:
            self._ended.set()

    def failed(self, error: str) -> None:
        """Replaces the status by an error; any process of a run may be the one that is left to do it."""
        self._end_signs()
        file = self._folder / "status.json"
        before = int(json.loads(file.read_text(encoding="utf-8"))["step"]) if file.exists() else 0
        content = {"state": "failed", "step": max(before, self._step), "error": error}
        replace_file(file, json.dumps(content))


def _end_line(file: Path) -> None:
    """Ends the last line of a file, which a process that was killed may have left unfinished."""
    if not file.exists() or file.stat().st_size == 0:
        return
    with file.open("rb+") as opened:
        content = opened.read()
        if not content.endswith(b"\n"):
            opened.truncate(content.rfind(b"\n") + 1)


def ended_unseen(folder: Path) -> int | None:
    """The last step of a run before that a signal has ended, or its machine; None where none was.

    Raises RunningError where that run still gives signs of life. A process of this host is known to be gone, of
    another one it takes two signs that do not come.
    """
    status = _read_status(folder)
    if status.get("state") != "running":
        return None
    step = int(status.get("step", 0))
    if status.get("host") == socket.gethostname() and not _exists(int(status["pid"])):
        return step
    deadline = time.monotonic() + 2.5 * BEAT
    while time.monotonic() < deadline:
        now = _read_status(folder)
        if now.get("state") != "running":
            return None
        if now != status:
            raise RunningError(
                f"process {now.get('pid')} of {now.get('host')} runs this job, at step {now['step']}: "
                "stop it first, or wait for its end"
            )
        time.sleep(0.2)
    return step


def _read_status(folder: Path) -> dict[str, Any]:
    file = folder / "status.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True
