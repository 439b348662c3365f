"""Requests and answers of the HTTP API. Fields of newer services are kept."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Kind = Literal["write_external", "deploy", "merge", "notify", "destructive_edit", "other"]
EffectClass = Literal["fenced", "keyed", "probeable", "idempotent", "opaque"]
Risk = Literal["low", "medium", "high"]
HeldState = Literal[
    "requested",
    "waiting",
    "approved",
    "running",
    "in_doubt",
    "applied",
    "failed",
    "rejected",
    "cancelled",
]

FINAL: frozenset[str] = frozenset({"applied", "failed", "rejected", "cancelled"})


class Model(BaseModel):
    """Snake case in Python, camel case in JSON."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow", protected_namespaces=())

    def body(self) -> dict[str, Any]:
        """The JSON object, without absent fields."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class ErrorBody(Model):
    code: str
    message: str
    details: dict[str, Any] | None = None


class CallbackDelivery(Model):
    """One webhook. `state` is `waiting`, `delivered` or `failed`, and `at` is epoch milliseconds."""

    event: str
    state: str
    tries: int
    at: int
    problem: str | None = None


class HeldCallback(Model):
    """Where webhooks report a held effect, and how far each is."""

    origin: str
    items: list[CallbackDelivery] = Field(default_factory=list)


class HeldEffect(Model):
    """A held effect and its present state. `id` is the id of its task, `effect` that of its entry in the ledger.

    A preview is part of the effect. So `effect` is `None` before the request for approval.
    """

    id: str
    effect: str | None = None
    capability: str
    key: str
    state: str
    approval: str | None = None
    by: str | None = None
    comment: str | None = None
    outputs: dict[str, Any] | None = None
    error: ErrorBody | None = None
    callback: HeldCallback | None = None

    @property
    def is_final(self) -> bool:
        return self.state in FINAL


class Capability(Model):
    """The definition of a remote capability. Times are milliseconds."""

    name: str
    title: str
    description: str | None = None
    kind: Kind = "write_external"
    effect_class: EffectClass = "opaque"
    risk: Risk | None = None
    target: str | None = None
    input: dict[str, Any]
    output: dict[str, Any] | None = None
    preview: bool | None = None
    probe: bool | None = None
    compensate: bool | None = None
    timeout_ms: int | None = None
    status: str | None = None


class Approval(Model):
    """A request for a decision on one exact effect."""

    id: str
    task: str
    node: str
    status: str
    title: str
    digest: str
    effect: dict[str, Any]
    effect_id: str
    requested_by: str
    audience: list[str] = Field(default_factory=list)
    risk: str | None = None
    decided_by: str | None = None
    comment: str | None = None


class Decision(Model):
    id: str
    status: str
    by: str
    approvals_missing: int | None = None


class Task(Model):
    id: str
    phase: str | None = None


class TaskEvent(Model):
    """One event of the history of a task. `at` is in milliseconds since 1970."""

    version: int
    at: int
    type: str
    data: dict[str, Any]


class Workflow(Model):
    """A workflow that a task can select by its `id`, with the inputs that it takes."""

    id: str
    version: str
    title: str | None = None
    kind: str
    repository: str
    inputs: list[dict[str, Any]] | None = None


class Order(Model):
    """An order for one effect, with its grant. `effect` stays as it was received, because its digest counts."""

    id: str
    attempt: int
    effect: dict[str, Any]
    digest: str
    grant: str | None = None
    approval: str | None = None


class ClaimedOrder(Model):
    kind: Literal["run", "probe"]
    order: Order
    epoch: int
    lease_ms: int
    #: The signed answer of a person that ordered this repeat.
    statement: str | None = None


class ClaimAnswer(Model):
    items: list[ClaimedOrder]


class BeatItem(Model):
    id: str
    epoch: int
    state: str
    lease_ms: int


class BeatAnswer(Model):
    items: list[BeatItem]


class EndAnswer(Model):
    id: str
    epoch: int
    status: str


class SigningKey(Model):
    kid: str
    public_key: str


class PublishedKeys(Model):
    keys: list[SigningKey]
    retired: list[SigningKey] | None = None
    statements: list[str]
