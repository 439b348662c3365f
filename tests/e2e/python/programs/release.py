"""A release with a preview, a probe and a compensation. The answer of its run is lost."""

from pathlib import Path

from holdpoint import Applied, context, effect, worker

running = Path("running.txt")
undone = Path("undone.txt")


@effect("release", key=lambda version: version, effect_class="probeable", target="shop")
def release(version: str) -> str:
    print("approved:", (context().preview or {})["plan"])
    running.write_text(version)
    raise ConnectionError("the answer is lost")


@release.preview
def plan(version: str) -> dict[str, str]:
    return {"plan": f"nothing -> {version}"}


@release.probe
def look(version: str) -> Applied | bool:
    return Applied(version) if running.exists() and running.read_text() == version else False


@release.compensate
def undo(version: str, outputs: dict[str, str]) -> None:
    undone.write_text(f"{version} {outputs['result']}")
    running.unlink()


with worker(release):
    held = release.hold("v2")
    print("held:", held.id)
    print("released:", held.wait(work=False))
    print("effect:", held.state.effect)
    input("until the undo has ended")
