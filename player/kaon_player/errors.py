"""Errors that tell a user of the player what to change."""


class PlayerError(Exception):
    """Base class of errors that are no fault of the player: the command prints the message and exits with 1."""


class JobError(PlayerError):
    """A job that cannot run, with the place in its file."""


class DataError(PlayerError):
    """Data that is missing, truncated, or not of the type that a program wants."""


class CheckpointError(PlayerError):
    """A checkpoint that cannot be restored."""


class RunningError(PlayerError):
    """A job that another run is at work on."""


class PeerError(PlayerError):
    """Another process of the same run that failed or is gone."""
