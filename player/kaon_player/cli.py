"""The command `kaon-player`."""

import argparse
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import kaon_player
from kaon_player.runs import guard


def _whole(least: int) -> Callable[[str], int]:
    """Reads whole numbers from some number on."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}, not {text!r}")
        return int(text)

    return read


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number of seconds greater than 0, not {text!r}")
    return seconds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="kaon-player", description="Runs training jobs that Kaon has written.")
    parser.add_argument("--version", action="version", version=kaon_player.__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    texts = {
        "run": "run a job, or go on with it",
        "explain": "print partitions, bytes of each device, and collective operations",
        "check": "check a job, its data and its checkpoint without running it",
        "gather": "write final.safetensors from the newest checkpoint",
    }
    for name, text in texts.items():
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("folder", type=Path, metavar="FOLDER", help="folder with a job.json")
        if name in ("run", "explain"):
            command.add_argument("--simulate", type=_whole(1), metavar="N", help="simulate N devices on the processor")
        if name == "run":
            environment = os.environ.get
            command.add_argument(
                "--coordinator",
                metavar="HOST:PORT",
                default=environment("KAON_COORDINATOR"),
                help="address of process 0, where there are several processes (KAON_COORDINATOR)",
            )
            command.add_argument(
                "--processes",
                type=_whole(1),
                default=environment("KAON_PROCESSES"),
                help="number of processes (KAON_PROCESSES)",
            )
            command.add_argument(
                "--process",
                type=_whole(0),
                default=environment("KAON_PROCESS"),
                help="number of this process, from 0 (KAON_PROCESS)",
            )
            command.add_argument(
                "--cluster",
                action="store_true",
                help="let JAX find the other processes: Slurm, Open MPI, pods of TPUs",
            )
            command.add_argument(
                "--timeout",
                type=_seconds,
                default=60.0,
                metavar="SECONDS",
                help="silence after which a process counts as gone (60)",
            )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; gives its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = _parser()
    options = parser.parse_args(arguments)
    if getattr(options, "simulate", None) is not None:
        # Read when JAX starts its backends.
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={options.simulate}".strip()
        os.environ["JAX_PLATFORMS"] = "cpu"
    if options.command == "run":
        several = (options.coordinator, options.processes, options.process)
        if any(each is None for each in several) and not all(each is None for each in several):
            parser.error("--coordinator, --processes and --process are given together or not at all")
        if options.process is not None and options.process >= options.processes:
            parser.error(f"--process counts from 0: there is no process {options.process} of {options.processes}")
    if getattr(options, "coordinator", None) is not None or getattr(options, "cluster", False):
        if not guard.is_guarded():
            return guard.run_guarded(arguments, options.folder, options.timeout)
        guard.follow_guard()
    import jax

    jax.config.update("jax_enable_x64", True)
    from kaon_player import explain
    from kaon_player.errors import PlayerError
    from kaon_player.runs import running
    from kaon_player.runs.distributed import Launch

    try:
        if options.command == "run":
            launch = Launch(
                options.coordinator,
                options.processes,
                options.process,
                cluster=options.cluster,
                timeout=options.timeout,
            )
            print(running.run(options.folder, launch))
        else:
            reports = {"explain": explain.explain, "check": explain.check, "gather": explain.gather}
            print(reports[options.command](options.folder))
    except PlayerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
