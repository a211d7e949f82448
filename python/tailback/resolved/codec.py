"""Converts the resolved scenario to JSON and back: the input of the simulator, the content of manifests, and the
identity of a run.

Keys are in the order of the fields, so that a scenario always gives the same bytes. Optional keys are omitted at their
default, so that scenarios written before a key existed can be read.
"""

import functools
import operator
from collections.abc import Mapping
from typing import Any

import msgspec

from tailback.resolved import links, traffic
from tailback.resolved.scenario import Scenario
from tailback.resolved.wifi import AIR

NETWORK = ("links", "qdiscs")
"""Keys that a scenario has if and only if it has hosts."""

ABSENT_WORDS = (("cells", "name", AIR), ("traffic", "protocol", traffic.ICMP))
"""Default words, which JSON lacks, each with its key and where that is. (Equal words may be two objects to msgspec.)"""


class ScenarioUnreadable(ValueError):
    """The JSON document is not a resolved scenario of this version; the message names the key."""


def to_json(scenario: Scenario) -> dict[str, Any]:
    """The JSON document of a scenario (`docs/contracts.md`)."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(scenario))
    found["links"] = [links.shortened(link) for link in found["links"]]
    for part, key, word in ABSENT_WORDS:
        for each in found.get(part, []):
            if each.get(key) == word:
                del each[key]
    return found if scenario.hosts else {key: value for key, value in found.items() if key not in NETWORK}


def of_json(document: Mapping[str, Any]) -> Scenario:
    """The scenario in a JSON document; raises `ScenarioUnreadable`."""
    try:
        if isinstance(document, Mapping) and "hosts" in document:
            return msgspec.convert(_in_full(document), _of_known_kinds())
        return msgspec.convert(document, Scenario[traffic.Observed])
    except msgspec.ValidationError as error:
        raise ScenarioUnreadable(str(error)) from error


def _in_full(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document with a value for each end of its links; what has another shape is left to the reader."""
    given = document.get("links")
    return {**document, "links": [links.in_full(link) for link in given]} if isinstance(given, list) else document


def _of_known_kinds() -> type[Scenario]:
    """The type of scenarios whose traffic is of one of the kinds."""
    kinds: Any = functools.reduce(operator.or_, traffic.FLOWS)
    return Scenario[kinds]
