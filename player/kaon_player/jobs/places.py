"""Lines of the values of a JSON text."""

import json
import re
from collections.abc import Sequence

Key = str | int

_space = re.compile(r"[ \t\r\n]*")
_decoder = json.JSONDecoder()


def describe(path: Sequence[Key]) -> str:
    """A path of keys as users would write it: `mesh.data`, `rules[2][0]`."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        elif re.fullmatch(r"\w+", key):
            text += f".{key}" if text else key
        else:
            text += f"[{json.dumps(key)}]"
    return text


class Places:
    """Positions of all values of a text that is known to be JSON."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._offsets: dict[tuple[Key, ...], int] = {}
        self.repeated: tuple[Key, ...] | None = None
        """A key that an object has twice; None where there is none."""
        self._value(0, ())

    def line(self, path: Sequence[Key]) -> int:
        """Line of a value, counted from 1; of the nearest value around it where the text lacks it."""
        key = tuple(path)
        while key not in self._offsets:
            key = key[:-1]
        return self._text.count("\n", 0, self._offsets[key]) + 1

    def _skip(self, at: int) -> int:
        match = _space.match(self._text, at)
        return match.end() if match else at

    def _value(self, at: int, path: tuple[Key, ...]) -> int:
        at = self._skip(at)
        if path in self._offsets:
            self.repeated = self.repeated or path
        self._offsets[path] = at
        first = self._text[at]
        if first == "{":
            return self._members(at + 1, path)
        if first == "[":
            return self._elements(at + 1, path)
        return _decoder.raw_decode(self._text, at)[1]

    def _members(self, at: int, path: tuple[Key, ...]) -> int:
        at = self._skip(at)
        while self._text[at] != "}":
            name, at = _decoder.raw_decode(self._text, at)
            at = self._skip(self._value(self._skip(at) + 1, (*path, name)))
            at = self._skip(at + 1) if self._text[at] == "," else at
        return at + 1

    def _elements(self, at: int, path: tuple[Key, ...]) -> int:
        at, index = self._skip(at), 0
        while self._text[at] != "]":
            at = self._skip(self._value(at, (*path, index)))
            at = self._skip(at + 1) if self._text[at] == "," else at
            index += 1
        return at + 1
