"""Claimants of the package `holdpoint` on a simulated clock.

The story tells each process line by line what happens to it: it begins, a request is answered, time passes, it dies. The
process answers with its new requests, and with the time at which it wants to be woken. Client, worker, check of grants
and signatures are those of the package. Only its clock, its threads and its network are replaced: one thread runs at a
time, so that the same story takes the same steps.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable
from importlib import import_module
from random import Random
from types import SimpleNamespace
from typing import Any

import holdpoint
import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from holdpoint.claiming.runs import Killed
from holdpoint.claiming.signing import ClaimKey

BEGINS_MS = float(sys.argv[1])


class Life:
    """One life of a process."""

    def __init__(self) -> None:
        self.now = 0.0
        self.is_dead = False
        self.ready: deque[Task] = deque()
        self.sleepers: list[Sleeper] = []
        self.calls: list[dict[str, Any]] = []
        self.waiting: dict[int, Sleeper] = {}
        self.answers: dict[int, Any] = {}
        self.names = 0
        self.random = Random(1)

    def call(self, what: str, body: Any) -> Any:
        """Asks the story, and blocks until it answers."""
        if self.is_dead:
            raise Killed
        self.names += 1
        number = self.names
        self.calls.append({"call": number, "what": what, "body": body})
        self.waiting[number] = Sleeper(present.task, None)
        block()
        return self.answers.pop(number)

    def run(self) -> None:
        while self.ready:
            present.task = self.ready.popleft()
            present.task.go.release()
            back.acquire()

    def pass_time(self, now: float) -> None:
        self.now = now
        due = sorted((each for each in self.sleepers if each.until is not None and each.until <= now), key=Sleeper.order)
        for each in due:
            each.wake()

    def wakes(self) -> float | None:
        return min((each.until for each in self.sleepers if each.until is not None), default=None)

    def end(self) -> None:
        self.is_dead = True
        for each in [*self.sleepers, *self.waiting.values()]:
            each.wake()


class Task:
    """A thread of a process. It runs between two waits, and no other one meanwhile."""

    def __init__(self, life: Life, target: Callable[[], None]) -> None:
        self.life = life
        self.go = threading.Semaphore(0)
        life.ready.append(self)
        threading.Thread(target=self._run, args=(target,), daemon=True).start()

    def _run(self, target: Callable[[], None]) -> None:
        self.go.acquire()
        try:
            target()
        except Killed:
            pass
        finally:
            back.release()


class Present:
    task: Task


present = Present()
#: Given back by the task that runs.
back = threading.Semaphore(0)


def block() -> None:
    task = present.task
    back.release()
    task.go.acquire()
    if task.life.is_dead:
        raise Killed


class Sleeper:
    """A task that waits for a time, or for another task."""

    _count = 0

    def __init__(self, task: Task, seconds: float | None) -> None:
        Sleeper._count += 1
        self.number = Sleeper._count
        self.task = task
        self.until = None if seconds is None else task.life.now + max(0.0, seconds) * 1_000
        self.is_awake = False
        task.life.sleepers.append(self)

    def order(self) -> tuple[float, int]:
        return (self.until or 0.0, self.number)

    def wake(self) -> None:
        if not self.is_awake:
            self.is_awake = True
            self.task.life.sleepers.remove(self)
            self.task.life.ready.append(self.task)


class Condition:
    def __init__(self) -> None:
        self._owner: Task | None = None
        self._depth = 0
        self._queue: list[Sleeper] = []
        self._waiters: list[Sleeper] = []

    def __enter__(self) -> None:
        task = present.task
        while self._owner not in (None, task) and not task.life.is_dead:
            self._queue.append(Sleeper(task, None))
            block()
        self._owner = task
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth <= 0:
            self._owner, self._depth = None, 0
            if self._queue:
                self._queue.pop(0).wake()

    def wait(self, timeout: float | None = None) -> bool:
        task, depth = present.task, self._depth
        if task.life.is_dead:
            raise Killed
        sleeper = Sleeper(task, timeout)
        self._waiters.append(sleeper)
        self._depth = 1
        self.__exit__()
        try:
            block()
        finally:
            was_notified = sleeper not in self._waiters
            if not was_notified:
                self._waiters.remove(sleeper)
            self.__enter__()
            self._depth = depth
        return was_notified

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        until = None if timeout is None else present.task.life.now + timeout * 1_000
        while not predicate():
            left = None if until is None else (until - present.task.life.now) / 1_000
            if left is not None and left <= 0:
                return False
            self.wait(left)
        return True

    def notify_all(self) -> None:
        waiters, self._waiters = self._waiters, []
        for each in waiters:
            each.wake()


class Event:
    def __init__(self) -> None:
        self._changed = Condition()
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        self._changed.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        with self._changed:
            return self._changed.wait_for(self.is_set, timeout)


class Thread:
    def __init__(self, target: Callable[..., None], args: tuple[Any, ...] = (), **_: object) -> None:
        self._target = lambda: target(*args)

    def start(self) -> None:
        Task(present.task.life, self._target)


def now() -> float:
    return present.task.life.now / 1_000


def name_of(_size: int) -> str:
    life = present.task.life
    life.names += 1
    return f"claim-of-python-{life.names}"


#: The lock of a condition is re-entrant, and does for a plain one.
threads = SimpleNamespace(Condition=Condition, Event=Event, Lock=Condition, Thread=Thread)
wall = SimpleNamespace(time=lambda: BEGINS_MS / 1_000 + now())
patches: dict[str, dict[str, Any]] = {
    "holdpoint.context": {"threading": threads, "now": now},
    "holdpoint.claiming.runs": {"threading": threads},
    "holdpoint.claiming.trust": {"threading": threads, "now": now, "time": wall},
    "holdpoint.claiming.worker": {"threading": threads, "now": now},
    "holdpoint.claiming.claimant": {"now": now, "secrets": SimpleNamespace(token_urlsafe=name_of)},
    "holdpoint.http": {"random": SimpleNamespace(uniform=lambda a, b: present.task.life.random.uniform(a, b))},
}
for module_name, names in patches.items():
    module = import_module(module_name)
    for name, value in names.items():
        assert hasattr(module, name), f"{module_name} has no {name}"
        setattr(module, name, value)
logging.disable()


class Network(httpx.BaseTransport):
    """Requests of the client reach the story."""

    def __init__(self, life: Life) -> None:
        self._life = life

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        content = request.read()
        body = json.loads(content) if content else dict(request.url.params)
        answer = self._life.call(request.url.path.removeprefix("/api/v1/"), body)
        if answer is None:
            raise httpx.ReadTimeout("no answer", request=request)
        return httpx.Response(answer["status"], json=answer["body"], request=request)


def effect_of(life: Life, effect_class: Any) -> Any:
    @holdpoint.effect(effect_class, key=lambda charge: f"refund:{charge}", effect_class=effect_class)
    def refund(charge: str, cents: int) -> dict[str, Any]:
        context = holdpoint.context()
        life.call("begin", None)
        context.assert_in_force()
        result = life.call("run", {"epoch": context.epoch, "args": {"charge": charge, "cents": cents}})
        if result["kind"] == "failed_clean":
            raise holdpoint.NothingHappened("DECLINED", result["error"]["message"])
        if result["kind"] == "unknown":
            raise ConnectionError(result["reason"])
        return dict(result["outputs"])

    if effect_class == "probeable":

        @refund.probe
        def was_refunded(charge: str, cents: int) -> bool:
            return bool(life.call("probe", None) == "applied")

    return refund


def begin(life: Life, message: dict[str, Any]) -> None:
    worker = holdpoint.worker(
        effect_of(life, message["class"]),
        client=holdpoint.Client("http://story", "token", transport=Network(life)),
        name=message["name"],
        concurrency=1,
        lease=message["leaseMs"] / 1_000,
        # The story has registered the capability.
        is_companion=True,
    )
    worker._claimant._key = ClaimKey(Ed25519PrivateKey.from_private_bytes(bytes.fromhex(message["key"])))
    worker._claimant.seat = message["seat"]
    worker.start()


lives: dict[int, Life] = {}
for line in sys.stdin:
    message = json.loads(line)
    life = lives.setdefault(message["life"], Life())
    life.pass_time(message["now"])
    if message["what"] == "begin":
        Task(life, lambda life=life, message=message: begin(life, message))
    elif message["what"] == "answer":
        life.answers[message["call"]] = message["answer"]
        life.waiting.pop(message["call"]).wake()
    elif message["what"] == "end":
        life.end()
        del lives[message["life"]]
    life.run()
    sys.stdout.write(json.dumps({"calls": life.calls, "wakes": life.wakes()}) + "\n")
    sys.stdout.flush()
    life.calls = []
