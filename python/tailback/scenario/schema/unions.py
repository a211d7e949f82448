"""Mappings of several kinds, of which an experiment has few: the validator of a kind is built when there is one."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from tailback.scenario.values import Section


class OneOf(Struct, frozen=True):
    """An annotation: a mapping of one of these kinds.

    It is what pydantic's `Discriminator` is, except that that builds the validators of all kinds.
    """

    kind_of: Callable[[object], type[Section]]
    """The model of an entry; raises `PydanticCustomError` if there is none."""
    tag_of: Callable[[type[Section]], str]
    """What stands for a model in the path of an error."""
    whole: Callable[[], Any]
    """The union of all kinds as a type, for the JSON Schema."""

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self._validated)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(TypeAdapter(self.whole()).core_schema)

    def _validated(self, entry: object, info: ValidationInfo) -> Any:
        model = self.kind_of(entry)
        return _validator(model, self.tag_of(model)).validate_python(entry, context=info.context)


@functools.cache
def _validator(model: type[Section], tag: str) -> SchemaValidator:
    """The validator of one kind, whose errors have the tag in their paths."""
    model.model_rebuild()
    kinds: Mapping[Any, CoreSchema] = {tag: model.__pydantic_core_schema__}
    return SchemaValidator(core_schema.tagged_union_schema(dict(kinds), lambda _entry: tag))
