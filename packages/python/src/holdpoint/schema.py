"""Arguments and outputs of a function as JSON, by its type hints."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

#: The key of an output that is no object.
RESULT = "result"


class NotJson(TypeError):
    """A type hint that has no JSON form."""


def _hints(fn: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(fn, include_extras=True)
    except NameError as error:
        raise NotJson(f"{fn.__name__}: unknown type in the hints: {error}; define it in the module") from error


class Arguments:
    """The arguments of a function: their JSON Schema, and both directions."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._signature = inspect.signature(fn)
        hints = _hints(fn)
        fields: dict[str, Any] = {}
        self._names: list[str] = []
        for name, parameter in self._signature.parameters.items():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise NotJson(f"{fn.__name__}: {parameter} has no name; give each argument a name")
            default = ... if parameter.default is parameter.empty else parameter.default
            # The alias is the name: fields of a model may not have every name.
            fields[f"f{len(self._names)}"] = (hints.get(name, Any), Field(default, alias=name))
            self._names.append(name)
        try:
            self._model: type[BaseModel] = create_model(
                "Arguments", __config__=ConfigDict(extra="forbid", protected_namespaces=()), **fields
            )
            self.schema: dict[str, Any] = self._model.model_json_schema(by_alias=True)
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            raise NotJson(f"{fn.__name__}: an argument has no JSON form: {error}") from error

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._names)

    def to_json(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object of a call. Raises `TypeError` or `pydantic.ValidationError`."""
        bound = self._signature.bind(*args, **kwargs)
        return self._model.model_validate(bound.arguments).model_dump(mode="json", by_alias=True)

    def from_json(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Values for a call. Raises `pydantic.ValidationError` if they do not fit."""
        model = self._model.model_validate_json(json.dumps(args))
        return {name: getattr(model, f"f{index}") for index, name in enumerate(self._names)}


class Outputs:
    """The outputs of a function. A value that is no object becomes `{"result": value}`."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        hint = _hints(fn).get("return", Any)
        self._is_none = hint is type(None)
        self.schema: dict[str, Any] | None = None
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(hint)
            own = self._adapter.json_schema(mode="serialization")
            self._is_object = _resolved(own).get("type") == "object"
            if self._is_object:
                self.schema = own
            elif hint is not Any and not self._is_none:
                wrapped = create_model("Outputs", result=(hint, ...))
                self.schema = wrapped.model_json_schema(mode="serialization")
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            raise NotJson(f"{fn.__name__}: the return type has no JSON form: {error}") from error

    def to_json(self, value: Any) -> dict[str, Any]:
        """The JSON object of a result. Raises `pydantic.ValidationError` if it does not fit the return type."""
        dumped = self._adapter.dump_python(self._adapter.validate_python(value), mode="json")
        if self._is_object:
            return dict(dumped)
        return {} if self._is_none else {RESULT: dumped}

    def from_json(self, outputs: Mapping[str, Any] | None) -> Any:
        if self._is_none:
            return None
        given = outputs or {}
        value = given if self._is_object else given.get(RESULT)
        return self._adapter.validate_json(json.dumps(value))


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    found = schema.get("$defs", {}).get(name)
    return found if isinstance(found, dict) else schema
