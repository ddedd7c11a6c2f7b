"""Runs a job again and again, and kills each run in the middle of a save: python kill_in_saves.py FOLDER KILLS.

Prints, as JSON, what each kill left of the save. JAX is imported once; each run is a fork of this process.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

from kaon_player.runs.distributed import Launch
from kaon_player.runs.running import run


def fork(folder: Path) -> int:
    """A run in a process of its own."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            run(folder, Launch())
            status = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)
    return child


def wait_for(pattern: str, folder: Path, child: int) -> None:
    """Waits until a file or folder appears."""
    before = set(folder.glob(pattern))
    while not set(folder.glob(pattern)) - before:
        if os.waitpid(child, os.WNOHANG)[0] != 0:
            raise SystemExit(f"the run ended before {pattern} appeared")
        time.sleep(0.0002)


def kill_in_save(folder: Path, saves: int, delay: float) -> list[str] | None:
    """Kills a run some seconds after one of its saves has begun; gives the files of a save that was not finished."""
    child = fork(folder)
    for _ in range(saves):
        wait_for("checkpoints/*.partial", folder, child)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    partial = list(folder.glob("checkpoints/*.partial"))
    return sorted(each.name for each in partial[0].iterdir()) if partial else None


def main() -> None:
    folder, kills = Path(sys.argv[1]), int(sys.argv[2])
    numbers = random.Random(7)
    # Short delays more often than long ones: how long a save takes is that of the disk.
    left = [kill_in_save(folder, numbers.randint(1, 3), 0.03 * numbers.random() ** 2) for _ in range(kills)]
    child = fork(folder)
    wait_for(".final.safetensors", folder, child)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(json.dumps(left))


main()
