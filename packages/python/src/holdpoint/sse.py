"""Server-sent events, as the HTTP API sends the events of a task."""

from __future__ import annotations

from typing import Any

from .canonical import parse_json
from .models import Model


class Event(Model):
    """One event. `id` continues a stream after a lost connection."""

    id: str | None = None
    name: str = "message"
    data: Any = None


class EventReader:
    """Joins the lines of a stream into events."""

    def __init__(self) -> None:
        self._id: str | None = None
        self._name = "message"
        self._lines: list[str] = []

    def take(self, line: str) -> Event | None:
        """The event that this line completes."""
        if line == "":
            return self._complete()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._lines.append(value)
        elif name == "event":
            self._name = value
        elif name == "id" and "\0" not in value:
            self._id = value
        return None

    def _complete(self) -> Event | None:
        lines, name = self._lines, self._name
        self._lines, self._name = [], "message"
        if not lines:
            return None
        text = "\n".join(lines)
        try:
            data = parse_json(text)
        except ValueError:
            data = text
        return Event(id=self._id, name=name, data=data)
