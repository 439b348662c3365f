"""The call of a function of an effect, and its result."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ..canonical import canonical_json
from ..context import current
from ..errors import GrantRefused, NothingHappened
from .runs import Killed, Run

if TYPE_CHECKING:
    from ..base_effect import BaseEffect

log = logging.getLogger("holdpoint.worker")

#: Limit of outputs as JSON.
OUTPUTS_MAX_BYTES = 256 * 1_024
_TEXT_MAX = 2_000

Result = dict[str, Any]


def failed_clean(code: str, message: str) -> Result:
    return {"kind": "failed_clean", "error": {"code": code, "message": text_of(message)}}


def unknown(reason: str) -> Result:
    return {"kind": "unknown", "reason": text_of(reason)}


def found(what: str, reason: str, outputs: dict[str, Any] | None = None) -> Result:
    result: Result = {"kind": "found", "found": what, "reason": text_of(reason)}
    return result if outputs is None else {**result, "outputs": outputs}


def text_of(text: str) -> str:
    return text.encode("utf-8", "replace").decode()[:_TEXT_MAX].strip() or "no text"


class Applied:
    """The answer of a probe: the effect was applied, with this result."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


@dataclass(frozen=True)
class Call:
    """A function of an effect with its arguments."""

    fn: Callable[..., Any]
    args: dict[str, Any]
    outputs_of: Callable[[Any], dict[str, Any]]
    #: The time of the call in seconds.
    timeout: float | None
    #: The preview that was approved with the arguments.
    preview: dict[str, Any] | None = None
    is_preview: bool = False

    @staticmethod
    def of(effect: BaseEffect[..., Any], part: str, kind: str, args: dict[str, Any]) -> Call:
        limit = effect.definition.timeout_ms
        timeout = None if limit is None else limit / 1_000
        if kind != "probe" and part == "preview":
            fn = _given(effect.previewer, "preview")
            return Call(fn, effect.arguments.from_json(args), _as_object, timeout, is_preview=True)
        undoes = kind != "probe" and part == "compensate"
        given = dict((args.get("args") or {}) if undoes else args)
        preview = given.pop("preview", None) if effect.previewer is not None else None
        values = effect.arguments.from_json(given)
        if kind == "probe":
            return Call(_given(effect.prober, "probe"), values, effect.outputs.to_json, timeout, preview)
        if not undoes:
            return Call(effect.fn, values, effect.outputs.to_json, timeout, preview)
        fn = _given(effect.compensator, "compensation")
        if "outputs" in inspect.signature(fn).parameters:
            values["outputs"] = args.get("outputs") or {}
        return Call(fn, values, _as_object, timeout, preview)


def _given(fn: Callable[..., Any] | None, what: str) -> Callable[..., Any]:
    if fn is None:
        raise GrantRefused("EXECUTOR_UNKNOWN_CAPABILITY", f"this program has no {what} for it")
    return fn


def _as_object(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    return dict(value) if isinstance(value, dict) else {"result": value}


class Calls:
    """Calls functions in threads, and asynchronous ones in one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self.loop = loop
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def close(self) -> None:
        """Ends the event loop, unless it belongs to the program."""
        if self._thread is not None and self.loop is not None:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(5)

    def called(self, run: Run, call: Call) -> Result:
        try:
            value = self._invoke(run, call)
        except NothingHappened as error:
            return failed_clean(error.code, error.message)
        except Killed:
            raise
        except BaseException as error:
            if call.is_preview:
                # It changes nothing.
                return failed_clean("REMOTE_PREVIEW_FAILED", f"{type(error).__name__}: {error}")
            # Not only `Exception`: a function that exits has changed something, or not.
            log.exception("%s failed; whether it happened is unknown", run.named)
            return unknown(f"{type(error).__name__}: {error}")
        return {"kind": "applied", "outputs": self._outputs_of(run, call, value)}

    def _outputs_of(self, run: Run, call: Call, value: Any) -> dict[str, Any]:
        try:
            outputs = call.outputs_of(value)
            size = len(canonical_json(outputs))
        except (ValidationError, ValueError, TypeError) as error:
            # The effect happened. That is recorded, with or without outputs.
            log.error("%s: the result does not fit the return type: %s", run.named, error)  # noqa: TRY400
            return {"outputsInvalid": text_of(str(error))}
        if size <= OUTPUTS_MAX_BYTES:
            return outputs
        log.error("%s: outputs of %d bytes are dropped; the limit is %d", run.named, size, OUTPUTS_MAX_BYTES)
        return {"outputsInvalid": f"{size} bytes; the limit is {OUTPUTS_MAX_BYTES}"}

    def probed(self, run: Run, call: Call) -> Result:
        try:
            answer = self._invoke(run, call)
        except Killed:
            raise
        except BaseException as error:
            log.exception("the probe of %s failed", run.named)
            return found("unknown", f"{type(error).__name__}: {error}")
        if answer is None:
            return found("unknown", "the probe cannot tell")
        if isinstance(answer, Applied):
            return found("applied", "the probe found it", self._outputs_of(run, call, answer.value))
        if not isinstance(answer, bool):
            return found("unknown", f"the probe returned {type(answer).__name__}, not True, False or None")
        return found("applied" if answer else "not_applied", "the probe found it" if answer else "not there")

    def _invoke(self, run: Run, call: Call) -> Any:
        run.context.preview = call.preview
        token = current.set(run.context)
        try:
            if inspect.iscoroutinefunction(call.fn):
                return self._await(run, call)
            timer = self._timer(run, call)
            try:
                return call.fn(**call.args)
            finally:
                if timer is not None:
                    timer.cancel()
        finally:
            current.reset(token)

    @staticmethod
    def _timer(run: Run, call: Call) -> threading.Timer | None:
        """A thread cannot be stopped. It is asked to, and its effect becomes in doubt unless it ends."""
        if call.timeout is None:
            return None

        def expire() -> None:
            log.warning("%s exceeds its time of %s s", run.named, call.timeout)
            run.beats = False
            run.context.stop("timeout")

        timer = threading.Timer(call.timeout, expire)
        timer.daemon = True
        timer.start()
        return timer

    def _await(self, run: Run, call: Call) -> Any:
        async def limited() -> Any:
            current.set(run.context)
            try:
                return await asyncio.wait_for(call.fn(**call.args), call.timeout)
            except (asyncio.TimeoutError, TimeoutError):
                run.context.stop("timeout")
                raise

        future = asyncio.run_coroutine_threadsafe(limited(), self._running())
        return future.result()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self.loop is None:
                self.loop = asyncio.new_event_loop()
                loop = self.loop

                def spin() -> None:
                    loop.run_forever()
                    loop.close()

                self._thread = threading.Thread(target=spin, name="holdpoint loop", daemon=True)
                self._thread.start()
            return self.loop
