"""The worker that lives as long as a `wait` of this process, so that one process can hold and carry out."""

from __future__ import annotations

import asyncio
import atexit
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..client import Client
from .worker import Worker

if TYPE_CHECKING:
    from ..base_effect import BaseEffect

#: Short polls: the process ends soon after its last wait.
_POLL_SECONDS = 3.0

_lock = threading.Lock()
_companions: dict[tuple[int, str, int], _Companion] = {}
_leaving: set[Worker] = set()


class _Companion:
    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.waits = 0


class claiming:
    """Claims effects of one function for the time of a block."""

    def __init__(
        self,
        effect: BaseEffect[..., Any],
        client: Client,
        *,
        work: bool,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._effect = effect
        self._client = client
        self._loop = loop
        self._key = (id(client), effect.name, id(loop))
        self._works = work

    def _enter(self) -> None:
        self._works = self._works and not Worker.carries_out(self._effect.name, self._client)
        if not self._works:
            return
        with _lock:
            companion = _companions.get(self._key)
            if companion is None or companion.worker.is_over:
                worker = Worker(
                    self._effect,
                    client=self._client,
                    loop=self._loop,
                    poll=_POLL_SECONDS,
                    on_point=self._effect.connection.on_point,
                    is_companion=True,
                )
                companion = _companions[self._key] = _Companion(worker)
                worker.start()
            companion.waits += 1
            self._companion = companion

    def _exit(self) -> Worker | None:
        """The worker, if this was the last wait."""
        if not self._works:
            return None
        with _lock:
            self._companion.waits -= 1
            if self._companion.waits > 0:
                return None
            if _companions.get(self._key) is self._companion:
                del _companions[self._key]
            worker = self._companion.worker
            _leaving.add(worker)
        worker.on_over = lambda: _leaving.discard(worker)
        worker.leave()
        return worker

    def __enter__(self) -> None:
        self._enter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit()

    async def __aenter__(self) -> None:
        self._enter()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        worker = self._exit()
        if worker is not None:
            # Functions of the worker run in this loop: they end before it does.
            await asyncio.to_thread(worker.stop)


def finish(client: Client | None = None, grace: float = 25.0) -> None:
    """Waits for the runs of all companions, or for those of one client."""
    with _lock:
        workers = [*_leaving, *(each.worker for each in _companions.values())]
    for worker in workers:
        if client is None or worker.client is client:
            worker.stop(grace)


# The process ends after the runs that it has claimed.
atexit.register(finish)
