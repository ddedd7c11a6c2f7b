"""Files that tell how a run goes: metrics.jsonl and status.json."""

import json
import math
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from kaon_player.data.tensors import replace_file


class Records:
    """Records of a run. Only one of its processes writes metrics."""

    def __init__(self, folder: Path, writes: bool) -> None:
        self._folder = folder
        self._writes = writes
        self._start = time.monotonic()
        self._step = 0
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

    def status(self, state: str, step: int | None = None) -> None:
        """Replaces the status."""
        self._step = self._step if step is None else step
        if self._writes:
            replace_file(self._folder / "status.json", json.dumps({"state": state, "step": self._step}))

    def failed(self, error: str) -> None:
        """Replaces the status by an error; any process of a run may be the one that is left to do it."""
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
