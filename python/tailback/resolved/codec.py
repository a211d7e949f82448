"""Converts the resolved scenario to JSON and back: the input of the simulator, the content of manifests, and the
identity of a run.

Keys come in the order of the fields, so that a scenario always gives the same bytes. Keys that a field calls absent
are left out; a scenario of before there were such keys reads as one without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tailback.resolved.scenario import Scenario

NETWORK = ("links", "qdiscs")
"""Keys that any scenario with hosts has, and no other."""


class ScenarioUnreadable(ValueError):
    """A JSON document that is not a resolved scenario of this version; the message says where."""


def to_json(scenario: Scenario) -> dict[str, Any]:
    """The document of a scenario (`docs/contracts.md`)."""
    found: dict[str, Any] = _adapter().dump_python(scenario, mode="json", by_alias=True, warnings="error")
    return found if scenario.hosts else {key: value for key, value in found.items() if key not in NETWORK}


def of_json(document: Mapping[str, Any]) -> Scenario:
    """The scenario of a document; raises `ScenarioUnreadable`."""
    try:
        return _adapter().validate_python(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "scenario"
        raise ScenarioUnreadable(f"`{place}`: {first['msg']}") from error


@cache
def _adapter() -> TypeAdapter[Scenario]:
    # Built when it is first asked for: commands that read no scenario do not wait for it.
    return TypeAdapter(Scenario)
