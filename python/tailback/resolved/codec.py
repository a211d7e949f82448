"""Converts the resolved scenario to JSON and back: the input of the simulator, the content of manifests, and the
identity of a run.

Keys are in the order of the fields, so that a scenario always gives the same bytes. Optional keys are omitted at their
default, so that scenarios written before a key existed can be read.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tailback.resolved.scenario import Scenario

NETWORK = ("links", "qdiscs")
"""Keys that a scenario has if and only if it has hosts."""


class ScenarioUnreadable(ValueError):
    """The JSON document is not a resolved scenario of this version; the message names the key."""


def to_json(scenario: Scenario) -> dict[str, Any]:
    """The JSON document of a scenario (`docs/contracts.md`)."""
    found: dict[str, Any] = _adapter().dump_python(scenario, mode="json", by_alias=True, warnings="error")
    return found if scenario.hosts else {key: value for key, value in found.items() if key not in NETWORK}


def of_json(document: Mapping[str, Any]) -> Scenario:
    """The scenario in a JSON document; raises `ScenarioUnreadable`."""
    try:
        return _adapter().validate_python(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "scenario"
        raise ScenarioUnreadable(f"`{place}`: {first['msg']}") from error


@cache
def _adapter() -> TypeAdapter[Scenario]:
    # Built at first use, because it slows down commands that need no scenario.
    return TypeAdapter(Scenario)
