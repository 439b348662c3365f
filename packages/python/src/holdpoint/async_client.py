"""The client of the HTTP API for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any, TypeVar

import httpx
from typing_extensions import Self, Unpack

from . import requests as api
from .client import BAD, FAULTS, Deadline, ended, waited
from .errors import Unreachable
from .http import Call, Settings, pauses, problem_in, unreachable
from .models import Approval, Capability, Decision, HeldEffect, PublishedKeys, Task, TaskEvent, Workflow
from .sse import Event, EventReader

T = TypeVar("T")


class AsyncClient:
    """The client for asyncio. Its methods are those of `Client`."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.settings = Settings.of(url, token)
        self._http = httpx.AsyncClient(base_url=self.settings.base, headers=self.settings.headers, transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def _receive(self, **request: Any) -> httpx.Response:
        try:
            return await self._http.request(**request)
        except FAULTS as error:
            raise unreachable(error, self.settings) from error

    async def send(self, call: Call[T]) -> T:
        return call.read(await self._receive(**call.sent()))

    async def _items(self, page: Callable[[str | None], Call[dict[str, Any]]]) -> AsyncIterator[Any]:
        after: str | None = None
        while True:
            answer = await self.send(page(after))
            for item in answer["items"]:
                yield item
            after = answer.get("next")
            if after is None:
                return

    async def _insist(self, call: Call[T], deadline: Deadline) -> T:
        for pause in pauses():
            try:
                return await self.send(call)
            except Unreachable:
                if deadline.passed:
                    raise
                await asyncio.sleep(deadline.left(pause))
        raise AssertionError("pauses do not end")

    async def hold(
        self, capability: str, args: Mapping[str, Any], key: str, **options: Unpack[api.HoldOptions]
    ) -> HeldEffect:
        return await self._insist(api.hold(capability, args, key, **options), Deadline(30))

    async def get_effect(self, id: str) -> HeldEffect:
        return await self.send(api.effect(id))

    async def wait_for_effect(
        self, id: str, *, timeout: float | None = None, return_in_doubt: bool = False
    ) -> HeldEffect:
        deadline = Deadline(timeout)
        effect = await self._insist(api.effect(id), deadline)
        while not ended(effect, return_in_doubt):
            if deadline.passed:
                raise waited(effect)
            wait = deadline.left(api.POLL_SECONDS)
            effect = await self._insist(api.effect(id, wait, effect.state), deadline)
        return effect

    async def cancel_effect(self, id: str, reason: str | None = None) -> None:
        await self.send(api.cancel_effect(id, reason))

    async def list_claimants(self) -> list[dict[str, Any]]:
        return [item async for item in self._items(api.claimants)]

    async def list_capabilities(self, name: str | None = None) -> list[Capability]:
        items = self._items(lambda after: api.capabilities(name, after))
        return [Capability.model_validate(item) async for item in items]

    async def register(self, definition: Capability) -> Capability:
        return await self.send(api.register(definition))

    async def withdraw(self, name: str) -> Capability:
        return await self.send(api.withdraw(name))

    async def list_approvals(self, **filters: Any) -> AsyncIterator[Approval]:
        async for item in self._items(lambda after: api.approvals(filters, after)):
            yield Approval.model_validate(item)

    async def get_approval(self, id: str) -> Approval:
        return await self.send(api.approval(id))

    async def decide(
        self, approval: Approval, decision: str, comment: str | None = None, *, response: Any = None
    ) -> Decision:
        return await self.send(api.decide(approval, decision, comment, response))

    async def submit_task(self, *, idempotency_key: str | None = None, **submission: Any) -> Task:
        return await self._insist(api.submit_task(submission, idempotency_key), Deadline(30))

    async def get_task(self, id: str) -> Task:
        return await self.send(api.task(id))

    async def list_tasks(self, **filters: Any) -> AsyncIterator[Task]:
        async for item in self._items(lambda after: api.tasks(filters, after)):
            yield Task.model_validate(item)

    async def watch_task(self, id: str) -> AsyncIterator[Event]:
        last: str | None = None
        delays = pauses()
        while True:
            headers = {"accept": "text/event-stream", **({"last-event-id": last} if last else {})}
            reader = EventReader()
            try:
                async with self._http.stream(
                    "GET", api.task_events(id), headers=headers, timeout=httpx.Timeout(20, read=60)
                ) as response:
                    if response.status_code >= BAD:
                        await response.aread()
                        raise problem_in(response)
                    async for line in response.aiter_lines():
                        event = reader.take(line)
                        if event is not None:
                            last = event.id or last
                            delays = pauses()
                            yield event
                return
            except httpx.TransportError:
                await asyncio.sleep(next(delays))

    async def cancel_task(self, id: str, reason: str | None = None) -> None:
        await self.send(api.steer_task(id, "cancel", {"reason": reason}))

    async def pause_task(self, id: str, reason: str | None = None) -> None:
        await self.send(api.steer_task(id, "pause", {"reason": reason}))

    async def resume_task(self, id: str) -> None:
        await self.send(api.steer_task(id, "resume", {}))

    async def retry_task(self, id: str, **options: Any) -> None:
        await self.send(api.steer_task(id, "retry", options))

    async def answer_task(
        self,
        id: str,
        answer: str,
        digest: str,
        comment: str | None = None,
        *,
        response: Any = None,
        approval: str | None = None,
    ) -> Decision:
        return await self.send(
            api.answer_task(id, answer=answer, digest=digest, comment=comment, response=response, approval=approval)
        )

    async def task_history(self, id: str, *, after: int = 0) -> AsyncIterator[TaskEvent]:
        while True:
            page = await self.send(api.task_history(id, after))
            for event in map(TaskEvent.model_validate, page["events"]):
                after = event.version
                yield event
            if not (page.get("more") and page["events"]):
                return

    async def list_workflows(self) -> list[Workflow]:
        return [Workflow.model_validate(item) for item in (await self.send(api.workflows()))["items"]]

    def list_artifacts(self, task: str) -> AsyncIterator[dict[str, Any]]:
        return self._items(lambda after: api.artifacts(task, after))

    async def get_artifact(self, sha256: str) -> bytes:
        response = await self._receive(method="GET", url=api.artifact(sha256))
        if response.status_code >= BAD:
            raise problem_in(response)
        return response.content

    async def keys(self) -> PublishedKeys:
        return await self.send(api.keys())

    async def whoami(self) -> dict[str, Any]:
        return await self.send(api.whoami())
