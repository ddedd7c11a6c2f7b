"""A process that starts the one that does the work, and tells how it ended.

JAX ends a process at once when the process that coordinates the run is gone, and the system when memory is short:
neither leaves time for a word about it.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from kaon_player.runs.peers import Peers, Process
from kaon_player.runs.records import Records

_VARIABLE = "KAON_PLAYER_GUARD"


def is_guarded() -> bool:
    """True in a process that has been started by this module."""
    return _VARIABLE in os.environ


def follow_guard() -> None:
    """Ends this process when the one that started it is gone."""
    parent = int(os.environ[_VARIABLE])

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, name="guard", daemon=True).start()


def run_guarded(arguments: Sequence[str], folder: Path, timeout: float) -> int:
    """Runs the command in a process of its own; gives its exit status."""
    worker = subprocess.Popen(
        [sys.executable, "-m", "kaon_player", *arguments], env={**os.environ, _VARIABLE: str(os.getpid())}
    )

    def forward(number: int, _frame: FrameType | None) -> None:
        worker.send_signal(number)

    signal.signal(signal.SIGTERM, forward)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to both
    status = worker.wait()
    if status >= 0:
        return status
    ended = f"was ended by {signal.Signals(-status).name}"
    error = _explain(folder, worker.pid, -status, ended, timeout)
    Records(folder, False).failed(error)
    print(f"error: {error}", file=sys.stderr)
    return 1


def _explain(folder: Path, pid: int, number: int, ended: str, timeout: float) -> str:
    """The error of a process that a signal has ended, which the others are told."""
    process = _process(folder, pid)
    if process is None:
        return f"the process {pid} on {socket.gethostname()} {ended} before it had met the others"
    peers = Peers(folder, process, timeout, lambda _: None)
    cause = peers.explain() if number == signal.SIGABRT else None
    if cause is not None:
        peers.fail(str(cause), pid)
        return str(cause)
    peers.fail(ended, pid)
    return f"process {process.index} of {process.count} ({socket.gethostname()}, pid {pid}) {ended}"


def _process(folder: Path, pid: int) -> Process | None:
    """The process with this number in the system, among those of the job's runs."""
    for file in (folder / "processes").glob("*/*.json"):
        content = json.loads(file.read_text(encoding="utf-8"))
        if (content["pid"], content["host"]) == (pid, socket.gethostname()):
            return Process(int(file.stem), content["count"], file.parent.name)
    return None
