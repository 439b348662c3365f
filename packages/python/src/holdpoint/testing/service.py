"""The HTTP API of the gate in memory: requests, claims and ends."""

from __future__ import annotations

import base64
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ..canonical import canonical_json, held_task_id
from ..claiming.runs import Killed
from ..models import FINAL, ClaimedOrder, HeldEffect
from .entry import HOUR, Entry, Signer, held, preview_of, show

_REPEATED = frozenset({"keyed", "idempotent", "fenced"})


class Problem(Exception):
    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.body = {"type": "about:blank", "title": code, "status": status, "detail": detail, "code": code}


class Service:
    """Requests and ledger in memory."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._entries: dict[str, Entry] = {}
        self._capabilities: dict[str, dict[str, Any]] = {}
        #: The newest poll of each claim.
        self._polls: dict[str, object] = {}
        self._signer = Signer()
        self._kill_at: tuple[str, str | None] | None = None
        self._life = 0
        self._is_dead = False
        self._is_closed = False
        self._decide: Callable[[HeldEffect], bool | None] | None = None

    # requests

    def handle(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        """The HTTP API: status and body of the answer."""
        with self._changed:
            if self._is_closed:
                raise httpx.ConnectError("the gate is closed")
            if path == "/effects":
                self._is_dead = False
            if self._is_dead:
                raise Killed
            life = self._life
            try:
                answer = self._route(method, path, query, body, life)
            except Problem as problem:
                return problem.status, problem.body
            if self._life != life:
                raise Killed
            return answer

    def _route(self, method: str, path: str, query: dict[str, str], body: Any, life: int) -> tuple[int, Any]:
        if path == "/effects":
            return self._hold(body)
        named = re.fullmatch(r"/effects/([^/]+)(/cancel)?", path)
        if named:
            entry = self._entries.get(named[1])
            if entry is None:
                raise Problem(404, "ORCHESTRATOR_UNKNOWN_TASK", "no such effect")
            return self._cancel(entry) if named[2] else self._watch(entry, query, life)
        routes: dict[str, Callable[[], tuple[int, Any]]] = {
            "/claims": lambda: self._claim(body, life),
            "/claims/beats": lambda: self._beat(body),
            "/claims/ends": lambda: self._end(body),
            "/keys": lambda: (200, self._signer.published(query.get("nonce", ""))),
            "/capabilities": lambda: self._registry(method, query, body),
        }
        if path not in routes:
            raise Problem(404, "CONTRACT_UNKNOWN_SUBJECT", f"the gate in memory has no {path}")
        return routes[path]()

    def _registry(self, method: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        if method == "POST":
            self._capabilities[body["name"]] = {**body, "status": "registered"}
            return 200, self._capabilities[body["name"]]
        name = query.get("name")
        return 200, {"items": [each for each in self._capabilities.values() if name in (None, each["name"])]}

    def _hold(self, body: dict[str, Any]) -> tuple[int, Any]:
        capability = self._capabilities.get(body["capability"])
        if capability is None:
            raise Problem(404, "APPROVALS_UNKNOWN_CAPABILITY", f"no capability {body['capability']}; register it")
        task = held_task_id(body["capability"], body["key"])
        known = self._entries.get(task)
        if known is not None:
            if canonical_json(known.args) != canonical_json(body["args"]):
                raise Problem(409, "ORCHESTRATOR_TASK_CONFLICT", "this key has other arguments")
            return 200, known.view()
        entry = self._entries[task] = held(capability, body["key"], body["args"])
        if entry.state == "requested":
            self._entries[f"{task}/preview"] = preview_of(entry)
        self._consult(entry)
        self._changed.notify_all()
        return 201, entry.view()

    def _watch(self, entry: Entry, query: dict[str, str], life: int) -> tuple[int, Any]:
        wait = int(query.get("waitMs", "0")) / 1_000
        unless = query.get("not")
        self._changed.wait_for(
            lambda: entry.state in FINAL or entry.state != (unless or entry.state) or self._is_over(life), wait
        )
        return 200, entry.view()

    def _is_over(self, life: int) -> bool:
        return self._is_closed or self._life != life

    def _cancel(self, entry: Entry) -> tuple[int, Any]:
        if entry.state in ("requested", "waiting", "approved"):
            entry.state, entry.order = "cancelled", None
            entry.error = {"code": "NODE_CANCELLED", "message": "the effect was cancelled"}
        entry.is_cancelled = True
        self._changed.notify_all()
        return 200, entry.view()

    def _claim(self, body: dict[str, Any], life: int) -> tuple[int, Any]:
        again = [each for each in self._entries.values() if each.claim == body["claim"] and each.holder]
        if again:
            return 200, {"items": [self._claimed(entry) for entry in again]}
        found: list[Entry] = []

        def ready() -> bool:
            found[:] = [each for each in self._entries.values() if self._fits(each, body)][: body.get("max", 1)]
            return bool(found) or self._is_over(life) or self._polls.get(body["claim"]) is not poll

        poll = self._polls[body["claim"]] = object()
        # A repeat ends the poll that waits.
        self._changed.notify_all()
        self._changed.wait_for(ready, body.get("waitMs", 0) / 1_000)
        if self._is_over(life) or self._polls.get(body["claim"]) is not poll:
            return 200, {"items": []}
        del self._polls[body["claim"]]
        for entry in found:
            if entry.order == "run":
                entry.epoch += 1
                entry.state = "running"
            entry.kind = entry.order or "run"
            entry.order = None
            entry.holder, entry.claim, entry.seat = body["x"], body["claim"], body.get("seat")
            entry.lease_ms = body.get("leaseMs", 30_000)
        self._changed.notify_all()
        return 200, {"items": [self._claimed(entry) for entry in found]}

    @staticmethod
    def _fits(entry: Entry, body: dict[str, Any]) -> bool:
        if entry.previews is not None and entry.previews.state != "requested":
            return False
        labels = body["uses"] if entry.order == "run" else body.get("probes") or []
        return entry.order is not None and entry.effect["uses"] in labels

    def _claimed(self, entry: Entry) -> dict[str, Any]:
        claimed = {
            "kind": entry.kind,
            "order": self._signer.order(entry),
            "epoch": entry.epoch,
            "leaseMs": entry.lease_ms,
            "statement": entry.statement,
        }
        return {name: value for name, value in claimed.items() if value is not None}

    @staticmethod
    def _check_signature(body: dict[str, Any]) -> None:
        unsigned = {name: value for name, value in body.items() if name != "signature"}
        raw = base64.urlsafe_b64decode(body["x"] + "=")
        signature = base64.urlsafe_b64decode(body["signature"] + "==")
        try:
            Ed25519PublicKey.from_public_bytes(raw).verify(signature, b"holdpoint-claim/1\n" + canonical_json(unsigned))
        except InvalidSignature as error:
            raise Problem(401, "EXECUTOR_CLAIM_SIGNATURE", "not signed with the key of the claim") from error

    def _of(self, id_: str) -> Entry:
        for entry in self._entries.values():
            if entry.effect_id == id_:
                return entry
        raise Problem(404, "EXECUTOR_UNKNOWN_EFFECT", "no such effect")

    def _beat(self, body: dict[str, Any]) -> tuple[int, Any]:
        self._check_signature(body)
        items = []
        for item in body["items"]:
            entry = self._of(item["id"])
            holds = entry.holder == body["x"] and entry.epoch == item["epoch"]
            state = ("cancelled" if entry.is_cancelled else "held") if holds else "lost"
            items.append({**item, "state": state, "leaseMs": entry.lease_ms if holds else 0})
        return 200, {"items": items}

    def _end(self, body: dict[str, Any]) -> tuple[int, Any]:
        self._check_signature(body)
        entry = self._of(body["id"])
        named = {"id": body["id"], "epoch": body["epoch"]}
        if entry.holder != body["x"] or entry.epoch != body["epoch"]:
            if entry.result == body:
                return 200, {**named, "status": "repeated"}
            raise Problem(409, "EXECUTOR_CLAIM_LOST", "the claim is over")
        self._record(entry, body["result"])
        entry.result = body
        entry.ends.append(body["result"])
        self._changed.notify_all()
        self._die_at("ended", entry)
        return 200, {**named, "status": "recorded"}

    def _record(self, entry: Entry, result: dict[str, Any]) -> None:
        entry.holder = None
        kind = result["kind"]
        if kind == "applied":
            entry.state, entry.outputs = "applied", result["outputs"]
            self._preview_ended(entry)
        elif kind == "failed_clean":
            entry.state, entry.error = "failed", result["error"]
            self._preview_ended(entry)
        elif kind == "unknown":
            entry.error = {"code": "EXECUTOR_OUTCOME_UNKNOWN", "message": result["reason"]}
            self._lose(entry)
        elif result["found"] == "applied":
            entry.state, entry.outputs, entry.error = "applied", result.get("outputs", {}), None
        elif result["found"] == "not_applied":
            entry.state, entry.order, entry.kind = "approved", "run", "run"
        else:
            entry.state = "in_doubt"

    def _preview_ended(self, work: Entry) -> None:
        entry = work.previews
        if entry is None or entry.state != "requested":
            return
        if work.outputs is None:
            entry.state, entry.error = "failed", work.error
            return
        show(entry, work.outputs)
        self._consult(entry)

    def _approve(self, entry: Entry, by: str, expires_in: float) -> None:
        entry.by, entry.exp = by, int(time.time() + expires_in)
        entry.state, entry.order = "approved", "run"

    def _consult(self, entry: Entry) -> None:
        if self._decide is None or entry.state != "waiting":
            return
        answer = self._decide(HeldEffect.model_validate(entry.view()))
        if answer is True:
            self._approve(entry, "approver", HOUR)
        elif answer is False:
            entry.state, entry.by = "rejected", "approver"

    def _fail(self, entry: Entry, code: str, message: str) -> None:
        entry.state, entry.error = "failed", {"code": code, "message": message}

    def _lose(self, entry: Entry) -> None:
        """A run is silent, or does not know its outcome: the class decides."""
        entry.holder = None
        if entry.effect_class in _REPEATED:
            entry.state, entry.order, entry.kind = "approved", "run", "run"
        elif entry.effect_class == "probeable" and entry.kind == "run":
            entry.state, entry.order, entry.kind = "in_doubt", "probe", "probe"
        else:
            entry.state, entry.order = "in_doubt", None

    def _reach(self, point: str, claimed: ClaimedOrder) -> None:
        with self._changed:
            self._die_at(point, self._of(claimed.order.id))

    def _die_at(self, point: str, entry: Entry) -> None:
        at, only = self._kill_at or (None, None)
        if at != point or only not in (None, entry.key) or entry.part == "preview":
            return
        self._kill_at = None
        # Requests of the killed process get no answer. The next process begins with a hold.
        self._life += 1
        self._is_dead = True
        for each in self._entries.values():
            if each.holder is not None:
                self._lose(each)
        self._changed.notify_all()
        raise Killed
