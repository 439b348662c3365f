import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdpoint import AsyncClient, Client, HoldpointError, Unreachable, digest_of
from holdpoint.models import Approval
from holdpoint.sse import EventReader

EFFECT = {"task": "t", "args": {"a": 1}}
DIGEST = digest_of(EFFECT)
APPROVAL = {
    "id": "a-1",
    "task": "t",
    "node": "n",
    "status": "pending",
    "title": "Pay",
    "digest": DIGEST,
    "effect": EFFECT,
    "effectId": "e-1",
    "requestedBy": "ada",
    "revision": 1,
}


def client_of(answer: Callable[[httpx.Request], httpx.Response]) -> Client:
    return Client("http://holdpoint.test/", "secret", transport=httpx.MockTransport(answer))


def test_a_request_carries_the_token_and_goes_to_the_api() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"name": "ada"})

    assert client_of(answer).whoami() == {"name": "ada"}
    assert str(seen[0].url) == "http://holdpoint.test/api/v1/whoami"
    assert seen[0].headers["authorization"] == "Bearer secret"


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from-file\n")
    monkeypatch.setenv("HOLDPOINT_URL", "http://other.test")
    monkeypatch.delenv("HOLDPOINT_TOKEN", raising=False)
    monkeypatch.setenv("HOLDPOINT_TOKEN_FILE", str(file))
    assert Client().settings.headers == {"authorization": "Bearer from-file"}
    assert Client().settings.base == "http://other.test/api/v1"
    monkeypatch.setenv("HOLDPOINT_TOKEN", "first")
    assert Client().settings.token == "first"
    assert Client(token="given").settings.token == "given"


def test_a_problem_becomes_an_error_with_its_code() -> None:
    problem = {"type": "about:blank", "title": "Conflict", "status": 409, "detail": "twice", "code": "X_Y"}
    client = client_of(lambda _: httpx.Response(409, json={**problem, "details": {"a": 1}}))
    with pytest.raises(HoldpointError) as raised:
        client.get_task("t")
    error = raised.value
    assert (error.code, error.message, error.status, error.details) == ("X_Y", "twice", 409, {"a": 1})
    assert not isinstance(error, Unreachable)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_an_answer_of_a_busy_service_may_be_repeated(status: int) -> None:
    with pytest.raises(Unreachable, match="RUNTIME_UNAVAILABLE"):
        client_of(lambda _: httpx.Response(status, text="busy")).get_task("t")


def test_a_lost_connection_is_unreachable_and_names_the_address() -> None:
    def lost(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(Unreachable, match=r"no answer from http://holdpoint\.test: refused"):
        client_of(lost).get_task("t")


def test_a_page_of_another_program_is_no_answer() -> None:
    with pytest.raises(HoldpointError, match="CONTRACT_NOT_JSON"):
        client_of(lambda _: httpx.Response(200, text="<html>")).get_task("t")


def test_lists_continue_to_the_last_page() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        is_first = "after" not in request.url.params
        page: dict[str, Any] = {"items": [{**APPROVAL, "id": "a-1" if is_first else "a-2"}]}
        return httpx.Response(200, json={**page, "next": "n"} if is_first else page)

    found = list(client_of(answer).list_approvals(status="pending"))
    assert [each.id for each in found] == ["a-1", "a-2"]
    assert found[0].model_extra == {"revision": 1}


def test_a_decision_names_the_digest_that_was_seen() -> None:
    sent: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return httpx.Response(200, json={"id": "a-1", "status": "approved", "by": "ada"})

    seen = Approval.model_validate(APPROVAL)
    assert client_of(answer).decide(seen, "approve", "fine").status == "approved"
    assert sent == [{"decision": "approve", "digest": DIGEST, "comment": "fine"}]


def test_an_effect_that_does_not_have_its_digest_is_not_decided() -> None:
    altered = Approval.model_validate({**APPROVAL, "effect": {"task": "t", "args": {"a": 2}}})
    with pytest.raises(HoldpointError, match="APPROVALS_EFFECT_ALTERED"):
        client_of(lambda _: httpx.Response(500)).decide(altered, "approve")


ANSWER = {"id": "a-1", "status": "answered", "by": "ada"}


def test_an_answer_of_a_task_names_the_digest_and_is_sent_once_by_its_key() -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json=ANSWER)

    client = client_of(answer)
    assert client.answer_task("t-1", "applied", DIGEST, "the bank says so").by == "ada"
    client.answer_task("t-1", "respond", DIGEST, response={"colour": "red"}, approval="a-1")
    assert [json.loads(each.content) for each in sent] == [
        {"answer": "applied", "digest": DIGEST, "comment": "the bank says so"},
        {"answer": "respond", "digest": DIGEST, "response": {"colour": "red"}, "approval": "a-1"},
    ]
    assert {each.url.path for each in sent} == {"/api/v1/tasks/t-1/answer"}
    assert len({each.headers["idempotency-key"] for each in sent}) == 2


def history_of(request: httpx.Request) -> httpx.Response:
    """Five events in pages of two; the page is complete although `more` was true once too often."""
    after = int(request.url.params["after"])
    events = [{"version": n, "at": n, "type": "node_ended", "data": {}} for n in range(after + 1, min(after + 3, 6))]
    return httpx.Response(200, json={"events": events, "version": 5, "more": after < 5})


def test_a_history_continues_to_its_last_event() -> None:
    client = client_of(history_of)
    assert [each.version for each in client.task_history("t-1")] == [1, 2, 3, 4, 5]
    assert [each.version for each in client.task_history("t-1", after=3)] == [4, 5]


WORKFLOW = {"id": "sample", "version": "1", "kind": "built_in", "repository": "unused", "later": 1}


def test_workflows_keep_the_fields_of_newer_services() -> None:
    found = client_of(lambda _: httpx.Response(200, json={"items": [WORKFLOW]})).list_workflows()
    assert [(each.id, each.kind, each.model_extra) for each in found] == [("sample", "built_in", {"later": 1})]


def test_published_keys_verify_what_the_service_signs() -> None:
    keys = {"keys": [{"kid": "k", "publicKey": "pem"}], "statements": ["a.b.c"]}
    published = client_of(lambda _: httpx.Response(200, json=keys)).keys()
    assert (published.keys[0].kid, published.statements) == ("k", ["a.b.c"])


class Broken(httpx.SyncByteStream):
    """A stream whose connection is lost after these bytes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __iter__(self) -> Iterator[bytes]:
        yield self._text.encode()
        raise httpx.ReadError("lost")


def test_a_stream_of_events_continues_after_a_lost_connection() -> None:
    asked: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("last-event-id"))
        if len(asked) == 1:
            return httpx.Response(200, stream=Broken(': hello\n\nid: 1\nevent: task\ndata: {"a":\ndata: 1}\n\n'))
        return httpx.Response(200, text="id: 2\ndata: end\n\n")

    events = list(client_of(answer).watch_task("t"))
    assert [(each.id, each.name, each.data) for each in events] == [("1", "task", {"a": 1}), ("2", "message", "end")]
    assert asked == [None, "1"]


def test_a_refused_stream_is_an_error() -> None:
    client = client_of(lambda _: httpx.Response(404, json={"code": "ORCHESTRATOR_UNKNOWN_TASK", "detail": "no"}))
    with pytest.raises(HoldpointError, match="ORCHESTRATOR_UNKNOWN_TASK"):
        next(client.watch_task("t"))


def test_an_event_without_data_is_none() -> None:
    reader = EventReader()
    assert [reader.take(line) for line in ("event: x", "", "data:1", "")][-1] is not None
    assert reader.take("") is None


def test_the_asynchronous_client_sends_the_same() -> None:
    async def main() -> None:
        def answer(request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, json={"items": [APPROVAL]} if request.method == "GET" else {"id": "t-1"})

        async with AsyncClient("http://h.test", "x", transport=httpx.MockTransport(answer)) as client:
            assert [each.id async for each in client.list_approvals()] == ["a-1"]
            assert (await client.submit_task(workflow="w", goal="g")).id == "t-1"

    asyncio.run(main())


def test_the_asynchronous_client_answers_and_reads_history_workflows_and_keys() -> None:
    answers: dict[str, Any] = {
        "/api/v1/tasks/t-1/answer": ANSWER,
        "/api/v1/workflows": {"items": [WORKFLOW]},
        "/api/v1/keys": {"keys": [], "statements": ["a.b.c"]},
    }

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/history"):
            return history_of(request)
        return httpx.Response(200, json=answers[request.url.path])

    async def main() -> None:
        async with AsyncClient("http://h.test", "x", transport=httpx.MockTransport(answer)) as client:
            assert (await client.answer_task("t-1", "retry", DIGEST)).status == "answered"
            assert [each.version async for each in client.task_history("t-1", after=2)] == [3, 4, 5]
            assert [each.id for each in await client.list_workflows()] == ["sample"]
            assert (await client.keys()).statements == ["a.b.c"]

    asyncio.run(main())


def public_methods(client: type[object]) -> set[str]:
    return {name for name in vars(client) if not name.startswith("_")}


def test_both_clients_have_the_same_methods() -> None:
    assert public_methods(Client) == public_methods(AsyncClient)
