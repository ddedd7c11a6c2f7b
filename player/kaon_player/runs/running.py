"""Runs jobs."""

import queue
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import FrameType, TracebackType

import numpy as np

from kaon_player.data import feeds
from kaon_player.data.dtypes import DTYPES
from kaon_player.data.feeds import Feeds
from kaon_player.errors import DataError, PlayerError
from kaon_player.jobs.job import Job, read_job
from kaon_player.programs.program import State, place
from kaon_player.runs import checkpoint, distributed, peers
from kaon_player.runs.checkpoint import Writer
from kaon_player.runs.distributed import Launch
from kaon_player.runs.peers import Peers, Process
from kaon_player.runs.plan import Plan, first_state, make_plan, restored_state, stored_state
from kaon_player.runs.records import Records, ended_unseen


def run(folder: Path, launch: Launch) -> str:
    """Runs a job to its end, or until it is told to stop: gives `finished` or `stopped`."""
    job = read_job(folder)
    process = distributed.join(launch)
    if process.index == 0:
        _note_unseen_end(folder)
    records = Records(folder, process.index == 0)

    def lost(problem: str) -> None:
        records.failed(problem)
        peers.end_process(f"error: {problem}")

    watched = Peers(folder, process, launch.timeout, lost)
    watched.start()
    try:
        state = _run(job, process, records)
    except Exception as error:
        _fail(error, process, records, watched)
        raise
    watched.finish()
    return state


def _note_unseen_end(folder: Path) -> None:
    step = ended_unseen(folder)
    if step is not None:
        note = f"the run before ended without a word, after step {step} or later: its last checkpoint counts"
        print(note, file=sys.stderr)


def _fail(error: Exception, process: Process, records: Records, watched: Peers) -> None:
    """Records an error. A process of several ends here: the others are not waited for."""
    own = isinstance(error, PlayerError)
    problem = str(error) if own else f"{type(error).__name__}: {error}"
    # An operation that fails because another process is gone does not say which.
    cause = None if own else watched.explain()
    watched.fail(problem if cause is None else str(cause))
    records.failed(problem if cause is None else str(cause))
    if process.count > 1:
        peers.end_process(f"error: {problem}" if cause is None else f"error: {cause}")


def _run(job: Job, process: Process, records: Records) -> str:
    with _Stop() as stop:
        return _run_until(job, process, records, stop)


def _run_until(job: Job, process: Process, records: Records, stop: "_Stop") -> str:
    plan = make_plan(job)
    training = feeds.training_feeds(job)
    evaluation = feeds.evaluation_feeds(job)
    found = checkpoint.open_latest(job)
    if found is None:
        stored_state(job)
    first = 0 if found is None else found.step
    writer = Writer(job, process)
    if process.index == 0:
        writer.clean()
    records.running(first)
    state = first_state(plan) if found is None else restored_state(plan, found)
    done = _steps(plan, state, first, training, evaluation, writer, records, process, stop)
    if done < job.steps:
        records.ended("stopped", done)
        return "stopped"
    if process.index == 0:
        last = checkpoint.open_latest(job)
        if last is not None:
            checkpoint.gather(job, last)
    records.ended("finished", done)
    return "finished"


def _steps(
    plan: Plan,
    state: State,
    first: int,
    training: feeds.Source,
    evaluation: tuple[feeds.Source, int | None] | None,
    writer: Writer,
    records: Records,
    process: Process,
    stop: "_Stop",
) -> int:
    """Runs steps from `first` on; gives the number of steps that are done and in a checkpoint."""
    job, step = plan.job, plan.step
    rows = step.rows()
    arguments = {each.name: each for each in job.step.state}
    done, saved = first, first
    pending: tuple[int, State] | None = None
    with closing(_Prefetched(training.start(first, rows), job.steps - first)) as batches:
        while done < job.steps and not distributed.stops(process, stop.wanted):
            for name, table in job.schedule.items():
                value = np.array(np.float32(table[done]), DTYPES[arguments[name].dtype])
                state[name] = place(value, plan.sharding(arguments[name]))
            metrics, after = step(state, step.feed(rows, batches.next(done)))
            state = {**state, **after}
            done += 1
            # Read one step late, so that devices need not wait for this process.
            if pending is not None:
                records.metrics(pending[0], "step", pending[1])
            pending = (done, metrics)
            evaluates = evaluation is not None and job.evaluate_every is not None and done % job.evaluate_every == 0
            saves = done % job.checkpoint_every == 0 or done == job.steps
            if evaluates or saves:
                records.metrics(done, "step", metrics)
                pending = None
            if evaluates and evaluation is not None:
                records.metrics(done, "evaluate", _evaluate(plan, state, *evaluation))
            if saves:
                writer.save(done, state)
                saved = done
                records.running(done)
    if pending is not None:
        records.metrics(pending[0], "step", pending[1])
    if saved < done:
        writer.save(done, state)
    writer.wait()
    distributed.wait_for_all(process, "the last checkpoint")  # their parts of it, and its name
    return done


def _evaluate(plan: Plan, state: State, source: feeds.Source, count: int | None) -> dict[str, float]:
    """Means of the metrics over all batches."""
    program = plan.evaluate
    assert program is not None  # there are feeds for it
    rows = program.rows()
    sums: dict[str, float] = {}
    number = 0
    for number, values in enumerate(source.start(0, rows), 1):
        metrics, _ = program(state, program.feed(rows, values))
        for name, value in metrics.items():
            sums[name] = sums.get(name, 0.0) + float(np.asarray(value).reshape(()))
        if number == count:
            break
    if number == 0:
        raise DataError("the data of evaluate has no batch")
    return {name: total / number for name, total in sums.items()}


class _Prefetched:
    """Batches that a thread reads ahead."""

    def __init__(self, batches: Iterator[Feeds], count: int) -> None:
        self._queue: queue.Queue[Feeds | Exception | None] = queue.Queue(maxsize=2)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(batches, count), name="data", daemon=True)
        self._thread.start()

    def _read(self, batches: Iterator[Feeds], count: int) -> None:
        try:
            for _ in range(count):
                if not self._put(next(batches, None)):
                    return
        except Exception as error:  # raised by the call that takes the batch
            self._put(error)

    def _put(self, item: Feeds | Exception | None) -> bool:
        while not self._closed.is_set():
            try:
                self._queue.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def next(self, step: int) -> Feeds:
        """The batch of the next step."""
        item = self._queue.get()
        if isinstance(item, Exception):
            raise item
        if item is None:
            raise DataError(f"the data ends before step {step + 1}: there is no batch number {step}")
        return item

    def close(self) -> None:
        """Ends the thread, unless the data makes it wait: then it ends with the process."""
        self._closed.set()
        self._thread.join(1.0)


class _Stop:
    """Notes that the process has been asked to end (SIGTERM, SIGINT); a second time it ends at once."""

    def __init__(self) -> None:
        self.wanted = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> "_Stop":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.wanted:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self.wanted = True
