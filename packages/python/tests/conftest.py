import warnings
from collections.abc import Iterator

import httpx
import pytest

from holdpoint.testing import Gate

warnings.filterwarnings("error")


class FaultyGate(Gate):
    """A gate that loses answers: requests arrive, and their answers do not."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: dict[str, int] = {}
        self.requests: list[tuple[str, object]] = []

    def handle(self, method: str, path: str, query: dict[str, str], body: object) -> tuple[int, object]:
        self.requests.append((path, body))
        answer = super().handle(method, path, query, body)
        empty = path == "/claims" and isinstance(answer[1], dict) and not answer[1].get("items")
        if self.lost.get(path, 0) > 0 and not empty:
            self.lost[path] -= 1
            raise httpx.ReadError("the connection was lost")
        return answer


@pytest.fixture
def gate() -> Iterator[FaultyGate]:
    with FaultyGate() as made:
        yield made
