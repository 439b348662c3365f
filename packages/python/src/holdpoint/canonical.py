"""Canonical JSON (RFC 8785), digests and ids, equal to those of every Holdpoint service."""

from __future__ import annotations

import hashlib
import json
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


def effect_id(task: str, node: str, key: str) -> str:
    """Permanent id of an effect: the same over all attempts."""
    return "e-" + _short_hash((task, node, key), 16)


def held_task_id(capability: str, key: str) -> str:
    """The task of an effect that is held without a workflow."""
    return "t-" + _short_hash(("held", capability, key), 12)
