"""The vectors that the TypeScript contracts generate: both languages compute and check the same."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from holdpoint import (
    ClaimedOrder,
    GrantRefused,
    HoldpointError,
    PublishedKeys,
    WebhookEvent,
    canonical_json,
    check_grant,
    digest_of,
    effect_id,
    held_task_id,
    verify_webhook,
)
from holdpoint.claiming.grants import keys_of, vouched_for
from holdpoint.claiming.signing import ClaimKey
from holdpoint.testing import Gate

HERE = Path(__file__).parent
FILE = Path(os.environ.get("HOLDPOINT_VECTORS", HERE.parents[1] / "contracts" / "vectors" / "remote-effects.json"))
VECTORS: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))

PUBLISHED = PublishedKeys.model_validate({"keys": VECTORS["keys"], "statements": []})
KEYS = keys_of(PUBLISHED)


@pytest.mark.parametrize("vector", VECTORS["canonical"], ids=lambda vector: vector["text"][:30])
def test_canonical_json_is_that_of_the_contracts(vector: Any) -> None:
    assert canonical_json(vector["value"]).decode() == vector["text"]
    assert digest_of(vector["value"]) == vector["sha256"]


@pytest.mark.parametrize("vector", VECTORS["effects"], ids=lambda vector: vector["id"])
def test_digest_and_id_of_an_effect_are_those_of_the_contracts(vector: Any) -> None:
    effect = vector["effect"]
    assert digest_of(effect) == vector["digest"]
    assert effect_id(effect["task"], effect["node"], effect["idempotencyKey"]) == vector["id"]


@pytest.mark.parametrize("vector", VECTORS["heldTasks"], ids=lambda vector: vector["id"])
def test_the_task_of_a_held_effect_is_that_of_the_contracts(vector: Any) -> None:
    assert held_task_id(vector["capability"], vector["key"]) == vector["id"]


@pytest.mark.parametrize("vector", VECTORS["grants"], ids=lambda vector: vector["name"])
def test_a_grant_is_judged_as_by_the_contracts(vector: Any) -> None:
    order, now = {"leaseMs": 30_000, **vector["claimed"]}, vector["now"] / 1_000
    for given in (order, ClaimedOrder.model_validate(order)):
        if vector["code"] is None:
            check_grant(given, PUBLISHED, now=now)
            continue
        with pytest.raises(GrantRefused) as refused:
            check_grant(given, PUBLISHED, now=now)
        assert refused.value.code == vector["code"]


def test_a_grant_is_checked_with_keys_in_pem_too() -> None:
    vector = next(each for each in VECTORS["grants"] if each["code"] is None and each["claimed"]["order"].get("grant"))
    order, now = {"leaseMs": 30_000, **vector["claimed"]}, vector["now"] / 1_000
    check_grant(order, "".join(key["publicKey"] for key in VECTORS["keys"]), now=now)
    with pytest.raises(GrantRefused, match="EXECUTOR_GRANT_INVALID"):
        check_grant(order, Gate().public_keys(), now=now)


def test_a_text_that_is_no_order_is_refused() -> None:
    with pytest.raises(GrantRefused, match="CONTRACT_INVALID"):
        check_grant({"kind": "run", "order": {}}, PUBLISHED)


def test_a_rotation_leads_to_the_keys_of_the_contracts() -> None:
    published = PublishedKeys.model_validate(VECTORS["rotation"]["published"])
    assert sorted(vouched_for(KEYS, published.statements)) == sorted(VECTORS["rotation"]["trusted"])


def test_beats_and_ends_have_the_signatures_of_the_contracts() -> None:
    claimant = VECTORS["claimant"]
    private = load_pem_private_key(claimant["privateKey"].encode(), None)
    assert isinstance(private, Ed25519PrivateKey)
    key = ClaimKey(private)
    beat = claimant["beat"]
    assert key.x == claimant["x"]
    assert key.beat([(item["id"], item["epoch"]) for item in beat["items"]]) == beat
    for end in claimant["ends"]:
        assert key.end(end["id"], end["epoch"], end["result"]) == end


@pytest.mark.parametrize("vector", VECTORS["webhooks"], ids=lambda vector: vector["name"])
def test_a_webhook_is_verified_as_in_the_contracts(vector: Any) -> None:
    keys = "".join(key["publicKey"] for key in VECTORS["keys"])
    for trusted in (keys, PUBLISHED):
        if vector["code"] is None:
            event = verified(vector, trusted)
            assert event.effect is not None
            assert event.effect.state == "applied"
        else:
            with pytest.raises(HoldpointError, match=vector["code"]):
                verified(vector, trusted)


def verified(vector: Any, keys: str | PublishedKeys) -> WebhookEvent:
    return verify_webhook(vector["headers"], vector["body"].encode(), keys, now=vector["now"] / 1_000)
