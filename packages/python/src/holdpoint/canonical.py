"""Canonical JSON (RFC 8785), digests and ids, equal to those of every Holdpoint service."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

import rfc8785

#: Integers beyond it lose digits in JSON numbers.
SAFE_INTEGER = 2**53 - 1

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def parse_json(text: bytes | str) -> Any:
    """Parses JSON without the extensions of Python. Raises `ValueError` for all other texts."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("JSON is nested too deeply") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def canonical_json(value: Any) -> bytes:
    """RFC 8785 text of a JSON value. Raises `ValueError` for values outside JSON."""
    try:
        return rfc8785.dumps(_as_numbers(value))
    except (RecursionError, OverflowError) as error:
        raise ValueError("not a JSON value") from error


def _as_numbers(value: Any) -> Any:
    """JSON knows only doubles: a large integer is the double nearest to it, as in JavaScript."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) > SAFE_INTEGER:
        return float(value)
    if isinstance(value, Mapping):
        return {key: _as_numbers(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_numbers(inner) for inner in value]
    return value


def digest_of(value: Any) -> str:
    """SHA-256 of the canonical text, as 64 lower-case hex digits."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def _units(text: str) -> int:
    """Length in UTF-16 code units, as JavaScript counts."""
    return len(text.encode("utf-16-le")) // 2


def _short_hash(parts: tuple[str, ...], length: int) -> str:
    text = "".join(f"{_units(part)}:{part}" for part in parts)
    data = hashlib.sha256(text.encode()).digest()
    return "".join(_ALPHABET[byte & 31] for byte in data[:length])


_UUID_7 = re.compile(
    r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII
)
_TIMED = re.compile(rf"[aet]-([{_ALPHABET}]{{7}})[{_ALPHABET}]{{10}}")
_TICK_MS = 128


def _time_in(text: str) -> str | None:
    """The time that a UUID of version 7 or an id of a task begins with."""
    if uuid := _UUID_7.match(text):
        ticks = int(uuid[1] + uuid[2], 16) // _TICK_MS
        return "".join(_ALPHABET[ticks >> shift & 31] for shift in range(30, -1, -5))
    timed = _TIMED.fullmatch(text)
    return timed[1] if timed else None


def _derived_id(letter: str, origin: str, parts: tuple[str, ...], length: int) -> str:
    time = _time_in(origin)
    return f"{letter}-" + (_short_hash(parts, length) if time is None else time + _short_hash(parts, 10))


def effect_id(task: str, node: str, key: str) -> str:
    """Permanent id of an effect: the same over all attempts."""
    return _derived_id("e", task, (task, node, key), 16)


def held_task_id(capability: str, key: str) -> str:
    """The task of an effect that is held without a workflow."""
    return _derived_id("t", key, ("held", capability, key), 12)
