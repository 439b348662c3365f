"""The synchronous client of the HTTP API."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

import httpx
from typing_extensions import Self, Unpack

from . import requests as api
from .errors import Unreachable, WaitTimeout
from .http import Call, Settings, pauses, problem_in, unreachable
from .models import Approval, Capability, Decision, HeldEffect, PublishedKeys, Task, TaskEvent, Workflow
from .sse import Event, EventReader

T = TypeVar("T")

FAULTS = (httpx.HTTPError, httpx.InvalidURL)
BAD = 400


class Deadline:
    """The time that is left of a wait, in seconds. Without a limit it never passes."""

    def __init__(self, timeout: float | None) -> None:
        self._end = None if timeout is None else time.monotonic() + timeout

    def left(self, most: float) -> float:
        return most if self._end is None else max(0.0, min(most, self._end - time.monotonic()))

    @property
    def passed(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end


def waited(effect: HeldEffect) -> WaitTimeout:
    return WaitTimeout("EFFECT_NOT_FINAL", f"{effect.capability} {effect.key} is {effect.state}; wait again")


def ended(effect: HeldEffect, in_doubt: bool) -> bool:
    return effect.is_final or (in_doubt and effect.state == "in_doubt")


class Client:
    """A synchronous client. Safe to share between threads.

    `url` and `token` default to `HOLDPOINT_URL` and `HOLDPOINT_TOKEN`. Errors are `HoldpointError` with the
    code of the service.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.settings = Settings.of(url, token)
        self._http = httpx.Client(base_url=self.settings.base, headers=self.settings.headers, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def _receive(self, **request: Any) -> httpx.Response:
        try:
            return self._http.request(**request)
        except FAULTS as error:
            raise unreachable(error, self.settings) from error

    def send(self, call: Call[T]) -> T:
        """Sends a request once."""
        return call.read(self._receive(**call.sent()))

    def _items(self, page: Callable[[str | None], Call[dict[str, Any]]]) -> Iterator[Any]:
        """The items of all pages."""
        after: str | None = None
        while True:
            answer = self.send(page(after))
            yield from answer["items"]
            after = answer.get("next")
            if after is None:
                return

    def _insist(self, call: Call[T], deadline: Deadline) -> T:
        """Repeats a request while Holdpoint is away. Only for requests that may be repeated."""
        for pause in pauses():
            try:
                return self.send(call)
            except Unreachable:
                if deadline.passed:
                    raise
                time.sleep(deadline.left(pause))
        raise AssertionError("pauses do not end")

    # effects

    def hold(
        self, capability: str, args: Mapping[str, Any], key: str, **options: Unpack[api.HoldOptions]
    ) -> HeldEffect:
        """Holds one effect until an approver decides. The same key is the same effect. Times are seconds."""
        return self._insist(api.hold(capability, args, key, **options), Deadline(30))

    def get_effect(self, id: str) -> HeldEffect:
        return self.send(api.effect(id))

    def wait_for_effect(self, id: str, *, timeout: float | None = None, return_in_doubt: bool = False) -> HeldEffect:
        """Waits until the effect is final. Raises `WaitTimeout` after `timeout` seconds."""
        deadline = Deadline(timeout)
        effect = self._insist(api.effect(id), deadline)
        while not ended(effect, return_in_doubt):
            if deadline.passed:
                raise waited(effect)
            wait = deadline.left(api.POLL_SECONDS)
            effect = self._insist(api.effect(id, wait, effect.state), deadline)
        return effect

    def cancel_effect(self, id: str, reason: str | None = None) -> None:
        self.send(api.cancel_effect(id, reason))

    def list_claimants(self) -> list[dict[str, Any]]:
        return list(self._items(api.claimants))

    # capabilities

    def list_capabilities(self, name: str | None = None) -> list[Capability]:
        items = self._items(lambda after: api.capabilities(name, after))
        return [Capability.model_validate(item) for item in items]

    def register(self, definition: Capability) -> Capability:
        """Registers a capability, or its next definition."""
        return self.send(api.register(definition))

    def withdraw(self, name: str) -> Capability:
        return self.send(api.withdraw(name))

    # approvals

    def list_approvals(self, **filters: Any) -> Iterator[Approval]:
        """Approvals that match `status` (default: pending), `audience`, `kind`, `risk`, `task`, `search`…"""
        return map(Approval.model_validate, self._items(lambda after: api.approvals(filters, after)))

    def get_approval(self, id: str) -> Approval:
        return self.send(api.approval(id))

    def decide(
        self, approval: Approval, decision: str, comment: str | None = None, *, response: Any = None
    ) -> Decision:
        """Decides on an approval that was read before: `approve`, `reject`, `request_changes`, …"""
        return self.send(api.decide(approval, decision, comment, response))

    # tasks

    def submit_task(self, *, idempotency_key: str | None = None, **submission: Any) -> Task:
        """Submits a task, with the fields of the API such as `workflow`, `goal` and `inputs`."""
        return self._insist(api.submit_task(submission, idempotency_key), Deadline(30))

    def get_task(self, id: str) -> Task:
        return self.send(api.task(id))

    def list_tasks(self, **filters: Any) -> Iterator[Task]:
        return map(Task.model_validate, self._items(lambda after: api.tasks(filters, after)))

    def watch_task(self, id: str) -> Iterator[Event]:
        """Events of a task as they happen. The stream continues after a lost connection."""
        last: str | None = None
        delays = pauses()
        while True:
            headers = {"accept": "text/event-stream", **({"last-event-id": last} if last else {})}
            reader = EventReader()
            try:
                with self._http.stream(
                    "GET", api.task_events(id), headers=headers, timeout=httpx.Timeout(20, read=60)
                ) as response:
                    if response.status_code >= BAD:
                        response.read()
                        raise problem_in(response)
                    for line in response.iter_lines():
                        event = reader.take(line)
                        if event is not None:
                            last = event.id or last
                            delays = pauses()
                            yield event
                return
            except httpx.TransportError:
                time.sleep(next(delays))

    def cancel_task(self, id: str, reason: str | None = None) -> None:
        self.send(api.steer_task(id, "cancel", {"reason": reason}))

    def pause_task(self, id: str, reason: str | None = None) -> None:
        self.send(api.steer_task(id, "pause", {"reason": reason}))

    def resume_task(self, id: str) -> None:
        self.send(api.steer_task(id, "resume", {}))

    def retry_task(self, id: str, **options: Any) -> None:
        self.send(api.steer_task(id, "retry", options))

    def answer_task(
        self,
        id: str,
        answer: str,
        digest: str,
        comment: str | None = None,
        *,
        response: Any = None,
        approval: str | None = None,
    ) -> Decision:
        """Answers the request of a task that waits: `approve`, `applied`, `not_applied`, `retry`, `respond`, …

        `digest` is that of the request as `list_approvals(task=id)` shows it: the answer counts for this effect
        only. `approval` names one of several requests with the same digest.
        """
        return self.send(
            api.answer_task(id, answer=answer, digest=digest, comment=comment, response=response, approval=approval)
        )

    def task_history(self, id: str, *, after: int = 0) -> Iterator[TaskEvent]:
        """The recorded events of a task, oldest first, with versions above `after`."""
        while True:
            page = self.send(api.task_history(id, after))
            for event in map(TaskEvent.model_validate, page["events"]):
                after = event.version
                yield event
            if not (page.get("more") and page["events"]):
                return

    def list_workflows(self) -> list[Workflow]:
        """The workflows that a task can select by name."""
        return [Workflow.model_validate(item) for item in self.send(api.workflows())["items"]]

    def list_artifacts(self, task: str) -> Iterator[dict[str, Any]]:
        return self._items(lambda after: api.artifacts(task, after))

    def get_artifact(self, sha256: str) -> bytes:
        """The content of an artifact."""
        response = self._receive(method="GET", url=api.artifact(sha256))
        if response.status_code >= BAD:
            raise problem_in(response)
        return response.content

    def keys(self) -> PublishedKeys:
        """The public keys of approvals. Trust them only if you trust the connection that they came over."""
        return self.send(api.keys())

    def whoami(self) -> dict[str, Any]:
        return self.send(api.whoami())
