"""Processes of one run: how each notices that another one is gone.

Each process keeps a file in `FOLDER/processes/RUN` fresh, and looks at those of the others: collective operations say
that something failed, or wait for ever, but not who is missing.
"""

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from kaon_player.data.tensors import replace_file
from kaon_player.errors import PeerError


@dataclass(frozen=True)
class Process:
    """This process among those of a run."""

    index: int
    count: int
    run: str


class Peers:
    """The other processes of a run, watched by a thread."""

    def __init__(self, folder: Path, process: Process, timeout: float, lost: Callable[[str], None]) -> None:
        self._root = folder / "processes"
        self._folder = self._root / process.run
        self._process = process
        self._timeout = timeout
        self._lost = lost
        self._done = threading.Event()
        self._beats = 0
        self._has_ended = False
        self._write_lock = threading.Lock()
        # Monotonic times of this process, as clocks of hosts differ.
        self._seen: dict[int, tuple[object, float]] = {}
        self._described: dict[int, dict[str, object]] = {}
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts watching, where there are others."""
        if self._process.count == 1:
            return
        if self._process.index == 0 and self._root.exists():
            for old in self._root.iterdir():
                if old != self._folder:
                    rmtree(old, ignore_errors=True)  # its process may still write
        self._folder.mkdir(parents=True, exist_ok=True)
        self._beat(os.getpid())
        self._thread = threading.Thread(target=self._watch, name="peers", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Says that this process has done its part: the others no longer wait for it."""
        self._done.set()
        if self._thread is not None:
            self._thread.join()
            self._beat(os.getpid(), "finished")

    def fail(self, error: str, pid: int | None = None) -> None:
        """Tells the others of an error of this process, or of one of this host that cannot do it any more."""
        self._done.set()
        if self._process.count > 1:
            self._beat(os.getpid() if pid is None else pid, "failed", error)

    def explain(self) -> PeerError | None:
        """The error of the process that failed or is gone; waits until one is known to be, None where none is."""
        if self._process.count == 1:
            return None
        deadline = time.monotonic() + self._timeout + 2 * self._interval
        while time.monotonic() < deadline:
            problem = self._problem()
            if problem is not None:
                return PeerError(problem)
            time.sleep(self._interval)
        return None

    @property
    def _interval(self) -> float:
        return min(1.0, self._timeout / 10)

    def _beat(self, pid: int, state: str = "running", error: str | None = None) -> None:
        with self._write_lock:
            if self._has_ended:  # the thread may be late
                return
            self._has_ended = state != "running"
            self._beats += 1
            content = {
                "beat": self._beats,
                "state": state,
                "error": error,
                "host": socket.gethostname(),
                "pid": pid,
                "count": self._process.count,
            }
            replace_file(self._folder / f"{self._process.index}.json", json.dumps(content))

    def _watch(self) -> None:
        try:
            while not self._done.wait(self._interval):
                self._beat(os.getpid())
                problem = self._problem()
                if problem is not None:
                    self._lost(problem)
                    return
        except OSError as error:
            self._lost(f"the folder of the job cannot be used any more: {error}")

    def _problem(self) -> str | None:
        """A process that failed, or has not been heard of for too long."""
        now = time.monotonic()
        silent: list[int] = []
        for index in range(self._process.count):
            if index == self._process.index:
                continue
            file = self._folder / f"{index}.json"
            content = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"beat": 0, "state": "running"}
            before = self._seen.get(index)
            if before is None or before[0] != content["beat"]:
                self._seen[index] = (content["beat"], now)
            self._described[index] = content
            if content["state"] == "failed":
                return f"{self._name(index)} failed: {content['error']}"
            if content["state"] == "running" and now - self._seen[index][1] > self._timeout:
                silent.append(index)
        if silent:
            names = ", ".join(self._name(index) for index in silent)
            return f"{names} is gone: not heard of for {self._timeout:g} seconds; run the job again to go on"
        return None

    def _name(self, index: int) -> str:
        content = self._described[index]
        where = f" (host {content['host']}, pid {content['pid']})" if "host" in content else ""
        return f"process {index} of {self._process.count}{where}"


def end_process(message: str) -> None:
    """Ends this process at once: collective operations that wait for others cannot be interrupted."""
    print(message, file=sys.stderr, flush=True)
    os._exit(1)
