"""What of the JSON Schema of experiment files a file uses: its keys as `Link.corrupt`, its choices as `Host.gro=on`.

A key is named by the mapping that it belongs to, so that `jitter` of a link is another one than `jitter` of a flow.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from tailback.scenario.schema.keys import json_schema

ROOT = "Keys"

Schema = Mapping[str, Any]

_schema = functools.cache(json_schema)

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": Mapping, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int,
    "number": (int, float),
}  # fmt: skip


def used(experiment: Mapping[str, Any]) -> set[str]:
    """The keys and choices of a file."""
    schema = _schema()
    return set(_used(schema, experiment, ROOT, schema["$defs"]))


def all_of_schema() -> set[str]:
    """All keys and choices that a file may have."""
    schema = _schema()
    found = set(_named(schema, ROOT))
    for name, each in schema["$defs"].items():
        found |= set(_named(each, name))
    return found


def _named(schema: Schema, name: str) -> Iterator[str]:
    """The keys and choices of a mapping, without those of the other mappings that it refers to."""
    yield from (f"{name}={_word(value)}" for value in schema.get("enum", ()))
    for key, each in schema.get("properties", {}).items():
        yield f"{name}.{key}"
        yield from _named(each, f"{name}.{key}")
    for each in _branches(schema):
        yield from _named(each, name)
    for each in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(each, Mapping):
            yield from _named(each, name)


def _branches(schema: Schema) -> Iterator[Schema]:
    yield from schema.get("anyOf", ())
    yield from schema.get("oneOf", ())


def _used(schema: Schema, value: Any, name: str, mappings: Mapping[str, Schema]) -> Iterator[str]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        schema = mappings[name]
    if not _fits(schema, value):
        return
    if value in schema.get("enum", ()):
        yield f"{name}={_word(value)}"
    for each in _branches(schema):
        yield from _used(each, value, name, mappings)
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _used_of_key(schema, key, each, (name, mappings))
    elif isinstance(value, list) and "items" in schema:
        for each in value:
            yield from _used(schema["items"], each, name, mappings)


def _used_of_key(schema: Schema, key: str, value: Any, place: tuple[str, Mapping[str, Schema]]) -> Iterator[str]:
    name, mappings = place
    if key in schema.get("properties", {}):
        yield f"{name}.{key}"
        yield from _used(schema["properties"][key], value, f"{name}.{key}", mappings)
        return
    for each in (schema.get("additionalProperties"), *schema.get("patternProperties", {}).values()):
        if isinstance(each, Mapping):
            yield from _used(each, value, name, mappings)


def _fits(schema: Schema, value: Any) -> bool:
    """Whether a value is of the type of a schema, and has the keys that tell a mapping from others."""
    known = schema.get("type")
    if isinstance(known, str) and not isinstance(value, _TYPES[known]):
        return False
    return not isinstance(value, Mapping) or set(schema.get("required", ())) <= set(value)


def _word(value: Any) -> str:
    """A choice as YAML has it: `true` is another one than `1`."""
    return str(value).lower() if isinstance(value, bool) else str(value)
