"""Processes of one run as JAX knows them."""

import secrets
from dataclasses import dataclass
from inspect import signature

import jax
import numpy as np
from jax.experimental import multihost_utils

from kaon_player.errors import JobError
from kaon_player.runs.peers import Process


@dataclass(frozen=True)
class Launch:
    """How processes of a run find each other: an address, or the launcher of a cluster. One process without either."""

    coordinator: str | None = None
    processes: int | None = None
    process: int | None = None
    cluster: bool = False
    timeout: float = 60.0


def join(launch: Launch) -> Process:
    """Joins the run, after which all devices are known.

    Raises JobError when the processes do not find each other.
    """
    if launch.coordinator is None and not launch.cluster:
        return Process(0, 1, secrets.token_hex(4))
    if jax.config.jax_platforms == "cpu":  # type: ignore[attr-defined]
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    # Longer than ours, which says more.
    patience = {"heartbeat_timeout_seconds": max(100, int(launch.timeout * 3))}
    known = signature(jax.distributed.initialize).parameters
    try:
        jax.distributed.initialize(
            coordinator_address=launch.coordinator,
            num_processes=launch.processes,
            process_id=launch.process,
            initialization_timeout=max(1, int(launch.timeout)),
            **{name: value for name, value in patience.items() if name in known},  # type: ignore[arg-type]
        )
    except (RuntimeError, ValueError) as error:
        raise JobError(f"the processes of the run do not find each other: {error}") from error
    run = np.frombuffer(secrets.token_bytes(4), np.uint8)
    agreed = multihost_utils.broadcast_one_to_all(run)
    return Process(jax.process_index(), jax.process_count(), bytes(np.asarray(agreed, np.uint8)).hex())


def stops(process: Process, wanted: bool) -> bool:
    """True when a process of the run wants it to stop: all get the same answer, and stop after the same step."""
    if process.count == 1:
        return wanted
    return bool(np.any(multihost_utils.process_allgather(np.array([wanted]))))


def wait_for_all(process: Process, what: str) -> None:
    """Waits until every process of the run is here."""
    if process.count > 1:
        multihost_utils.sync_global_devices(what)
