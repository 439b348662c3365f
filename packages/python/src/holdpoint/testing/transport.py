"""Requests of the clients, answered in memory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import httpx

from ..canonical import parse_json

#: Status and body of the answer to a method, a path, a query and a body.
Handle = Callable[[str, str, dict[str, str], Any], tuple[int, Any]]


def _answer(handle: Handle, request: httpx.Request, content: bytes) -> httpx.Response:
    query = {name: values[0] for name, values in parse_qs(request.url.query.decode()).items()}
    body = parse_json(content) if content else None
    status, answer = handle(request.method, request.url.path.removeprefix("/api/v1"), query, body)
    return httpx.Response(status, json=answer, request=request)


class Transport(httpx.BaseTransport):
    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return _answer(self._handle, request, request.read())


class AsyncTransport(httpx.AsyncBaseTransport):
    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        content = await request.aread()
        loop = asyncio.get_running_loop()
        done: asyncio.Future[httpx.Response] = loop.create_future()

        def settle(answer: httpx.Response | None, error: BaseException | None) -> None:
            if done.cancelled():
                return
            if answer is not None:
                done.set_result(answer)
            elif error is not None:
                done.set_exception(error)

        def run() -> None:
            answer: httpx.Response | None = None
            failure: BaseException | None = None
            try:
                answer = _answer(self._handle, request, content)
            except BaseException as error:
                failure = error
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, answer, failure)

        threading.Thread(target=run, daemon=True).start()
        return await done
