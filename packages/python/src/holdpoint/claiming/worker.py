"""A worker: it claims approved effects, carries each of them out once, and reports the result."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from .. import requests as api
from ..client import Client
from ..context import now
from ..errors import HoldpointError
from .calls import Applied, Calls
from .claimant import Claimant
from .claims import Claims, HttpClaims
from .runs import Killed, Run, Runs
from .seat import Seat
from .trust import Trust

if TYPE_CHECKING:
    from ..base_effect import BaseEffect
    from ..defaults import OnPoint

log = logging.getLogger("holdpoint.worker")


def _default_name() -> str:
    program = os.path.basename(sys.argv[0]) or "python"
    plain = "".join(each for each in f"{program} on {socket.gethostname()}" if each.isprintable())
    return f"{plain[:80].strip()}, process {os.getpid()}"


class Worker:
    """Carries out effects of these functions, each start at most once.

    `with worker(refund): …` works in the background. `worker(refund).run()` works until SIGTERM or Ctrl-C:
    it claims nothing new, and finishes the runs that it has.

    `concurrency` is the number of simultaneous runs. `lease` is the time in seconds after which a silent worker
    has lost its effects. `seat` is a folder that only one process can lock. It proves to a later worker
    that this one is gone. `public_keys` is the PEM file with the keys of approvals; default: the keys that the
    service publishes at the first claim.
    """

    _working: OrderedDict[int, Worker] = OrderedDict()  # noqa: RUF012 -- all workers of the process
    _working_lock = threading.Lock()

    def __init__(
        self,
        *effects: BaseEffect[..., Any],
        client: Client | None = None,
        claims: Claims | None = None,
        name: str | None = None,
        concurrency: int = 10,
        lease: float = 30.0,
        seat: str | os.PathLike[str] | None = None,
        public_keys: str | os.PathLike[str] | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
        poll: float = 20.0,
        on_point: OnPoint | None = None,
        is_companion: bool = False,
    ) -> None:
        if not effects:
            raise TypeError("a worker needs at least one effect: worker(refund)")
        connection = effects[0].connection
        self._effects = {each.name: each for each in effects}
        self.client = client or connection.client
        self._name = name or _default_name()
        self._seat_folder = seat
        self._seat: Seat | None = None
        self._is_companion = is_companion
        self._runs = Runs()
        self._calls = Calls(loop)
        asked = claims or HttpClaims(self.client)
        self._claimant = Claimant(
            effects,
            claims=asked,
            trust=Trust(asked.keys, public_keys),
            runs=self._runs,
            calls=self._calls,
            name=self._name,
            concurrency=concurrency,
            lease=lease,
            poll=min(poll, api.POLL_SECONDS),
            on_point=on_point or connection.on_point,
            spawn=self._spawn,
        )
        self._is_started = False
        #: Called when the worker has stopped.
        self.on_over: Callable[[], None] | None = None

    # life

    @staticmethod
    def carries_out(name: str, client: Client) -> bool:
        """Whether a worker of this process claims effects of this name."""
        with Worker._working_lock:
            return any(
                name in each._effects and each.client is client and not each._is_companion
                for each in Worker._working.values()
            )

    def start(self) -> Self:
        if self._is_started:
            raise RuntimeError("the worker was started before; make a new one")
        if self._seat_folder is not None:
            self._seat = Seat(self._seat_folder)
            self._claimant.seat = self._seat.name
        if not self._is_companion:
            self._register()
        with Worker._working_lock:
            Worker._working[id(self)] = self
        self._is_started = self._runs.is_polling = True
        self._spawn("claims", self._claimant.claim_orders)
        self._spawn("beats", self._claimant.beat)
        return self

    def leave(self) -> None:
        """Claims nothing new. Runs continue. Returns at once."""
        with self._runs.changed:
            if self._runs.is_leaving:
                return
            self._runs.is_leaving = True
            self._runs.changed.notify_all()
        self._forget()
        self._spawn("last claim", self._claimant.end_poll)

    def stop(self, grace: float = 25.0) -> None:
        """Claims nothing new, and waits for its runs, at most `grace` seconds.

        A run that lasts longer is not reported: its effect becomes in doubt when its lease ends.
        """
        self.leave()
        until = now() + grace
        for run in self._runs.present():
            run.context.stop("stopping")
        with self._runs.changed:
            while (self._runs or self._runs.is_polling) and now() < until:
                self._runs.changed.wait(until - now())
        left = self._runs.abandon()
        for run in left:
            log.warning("%s is not ended; it becomes in doubt when its lease ends", run.named)
        self._close(left)

    def _close(self, left: list[Run]) -> None:
        self._calls.close()
        # A run that still goes on may change something: its seat is not free before the process ends.
        if self._seat is not None and not left:
            self._seat.release()
            self._seat = None
        if self.on_over is not None:
            self.on_over()

    @property
    def error(self) -> HoldpointError | None:
        """Why the worker has stopped claiming by itself."""
        return self._runs.error

    @property
    def is_over(self) -> bool:
        return self._runs.is_leaving or self.error is not None

    def run(self) -> None:
        """Works until SIGTERM or Ctrl-C. Raises the error if claims are refused."""
        asked = threading.Event()

        def ask(_signal: int, _frame: FrameType | None) -> None:
            asked.set()

        former = {each: signal.signal(each, ask) for each in (signal.SIGTERM, signal.SIGINT)}
        try:
            self.start()
            log.info("%s claims %s", self._name, ", ".join(self._claimant.uses))
            while not asked.is_set() and self.error is None:
                asked.wait(0.2)
            self.stop()
        finally:
            for each, handler in former.items():
                signal.signal(each, handler)
        if self.error is not None:
            raise self.error

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        """Asynchronous functions run in the present event loop."""
        self._calls.loop = asyncio.get_running_loop()
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)

    def _register(self) -> None:
        """Registers capabilities that are unknown. An existing definition stays, because people have read it."""
        for effect in self._effects.values():
            try:
                known = self.client.list_capabilities(effect.name)
                if not known:
                    self.client.register(effect.definition)
                    log.info("registered the capability %s", effect.name)
                elif _differs(known[0].body(), effect.definition.body()):
                    log.warning("%s is registered otherwise; call .register() to replace it", effect.name)
            except HoldpointError as error:
                log.warning("cannot look up the capability %s: %s", effect.name, error)

    def _spawn(self, role: str, target: Callable[[], None]) -> None:
        threading.Thread(target=self._guarded, args=(target,), name=f"holdpoint {role}", daemon=True).start()

    def _guarded(self, target: Callable[[], None]) -> None:
        try:
            target()
        except Killed:
            self._runs.die()
            self._forget()
        except Exception as error:
            log.exception("the worker stops claiming")
            self._runs.fail(HoldpointError("RUNTIME_POISON", f"the worker failed: {type(error).__name__}: {error}"))

    def _forget(self) -> None:
        with Worker._working_lock:
            Worker._working.pop(id(self), None)


def _differs(known: dict[str, Any], own: dict[str, Any]) -> bool:
    return any(known.get(name) != value for name, value in own.items())


#: `with worker(refund): …` reads better than the name of the class.
worker = Worker


__all__ = ["Applied", "Killed", "Worker", "worker"]
