"""A seat: a name that only one running process can hold."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from ..errors import HoldpointError

_NAME_MAX = 64


class Seat:
    """Locks a folder for the life of the process, and reads its name.

    The operating system releases the lock when the process ends, however it ends. So the next holder proves
    that the earlier process is gone. Children that inherit the lock keep it.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        import fcntl  # noqa: PLC0415 -- absent on Windows, where there are no seats

        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path / "seat", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._fd)
            raise HoldpointError("SEAT_TAKEN", f"another process holds the seat {path}") from error
        name = os.read(self._fd, _NAME_MAX).decode("ascii", "replace").strip()
        if not name:
            name = secrets.token_urlsafe(16)
            os.write(self._fd, name.encode())
            os.fsync(self._fd)
        self.name = name

    def release(self) -> None:
        """Only when no run of this process can still change anything."""
        os.close(self._fd)
