"""Checked reading of a JSON file: every error names the key and its line."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn, TypeVar

from kaon_player.errors import JobError
from kaon_player.jobs.places import Key, Places, describe

T = TypeVar("T")


class Field:
    """A value of a JSON file with its place."""

    def __init__(self, file: Path, places: Places, path: tuple[Key, ...], value: object) -> None:
        self._file = file
        self._places = places
        self.path = path
        self.value = value

    def fail(self, problem: str) -> NoReturn:
        """Raises an error that names this value."""
        name = describe(self.path) or "the job"
        raise JobError(f"{self._file}:{self._places.line(self.path)}: {name}: {problem}")

    def _child(self, key: Key, value: object) -> "Field":
        return Field(self._file, self._places, (*self.path, key), value)

    def _object(self) -> dict[str, object]:
        if not isinstance(self.value, dict):
            self.fail(f"must be an object, not {self.shown()}")
        return self.value

    def shown(self) -> str:
        """The value as JSON, shortened."""
        text = json.dumps(self.value)
        return text if len(text) <= 60 else text[:57] + "..."

    def get(self, name: str) -> "Field | None":
        """A member; None where it is missing or null."""
        value = self._object().get(name)
        return None if value is None else self._child(name, value)

    def require(self, name: str) -> "Field":
        """A member that has to be there."""
        found = self.get(name)
        if found is None:
            self.fail(f'"{name}" is missing')
        return found

    def only(self, *names: str) -> "Field":
        """This object, which may have these members and no others."""
        for name in self._object():
            if name not in names:
                known = ", ".join(names)
                self._child(name, None).fail(f"is not known here; known are {known}")
        return self

    def members(self) -> Iterator[tuple[str, "Field"]]:
        """Members of an object."""
        for name, value in self._object().items():
            yield name, self._child(name, value)

    def elements(self) -> list["Field"]:
        """Elements of a list."""
        if not isinstance(self.value, list):
            self.fail(f"must be a list, not {self.shown()}")
        return [self._child(index, value) for index, value in enumerate(self.value)]

    def text(self) -> str:
        """A string."""
        if not isinstance(self.value, str):
            self.fail(f"must be a string, not {self.shown()}")
        return self.value

    def choice(self, *allowed: str) -> str:
        """One of several strings."""
        text = self.text()
        if text not in allowed:
            self.fail(f"must be one of {', '.join(allowed)}, not {self.shown()}")
        return text

    def integer(self, least: int) -> int:
        """An integer that is not less than `least`."""
        value = self.value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self.fail(f"must be an integer of at least {least}, not {self.shown()}")
        return value

    def number(self) -> float:
        """A number."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            self.fail(f"must be a number, not {self.shown()}")
        return float(self.value)

    def list_of(self, read: Callable[["Field"], T]) -> tuple[T, ...]:
        """Elements of a list, each read by a function."""
        return tuple(read(each) for each in self.elements())


def read_fields(file: Path) -> Field:
    """The content of a JSON file."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise JobError(
            f"{file}: there is no such file, so its folder is no job; writeJob of kaon/scale writes one"
        ) from None
    except UnicodeDecodeError as error:
        raise JobError(f"{file}: is not UTF-8: {error.reason}") from None
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        places = Places(text)
    except json.JSONDecodeError as error:
        raise JobError(f"{file}:{error.lineno}: is not JSON: {error.msg}") from None
    except ValueError as error:
        raise JobError(f"{file}: is not JSON: {error}") from None
    except RecursionError:
        raise JobError(f"{file}: is nested too deeply") from None
    if places.repeated is not None:
        Field(file, places, places.repeated, None).fail("comes twice")
    return Field(file, places, (), value)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number there")
