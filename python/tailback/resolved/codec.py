"""Converts the resolved scenario to JSON and back: the input of the simulator, the content of manifests, and the
identity of a run.

Keys are in the order of the fields, so that a scenario always gives the same bytes. Optional keys are omitted at their
default, so that scenarios written before a key existed can be read.

A run may have 100,000 flows, and its JSON is needed for its name, its identity, the simulator and the manifest. So
`to_text` writes the flows straight from their records: as dictionaries of Python they need ten times the memory.
"""

import functools
import json
import operator
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from tailback.resolved import links, references, traffic
from tailback.resolved.scenario import Scenario
from tailback.resolved.wifi import AIR

NETWORK = ("links", "qdiscs")
"""Keys that a scenario has if and only if it has hosts."""

Order: TypeAlias = Literal["of fields", "alphabetical"]
"""The order of the keys in a text."""


class ScenarioUnreadable(ValueError):
    """The JSON document is not a resolved scenario of this version; the message names the key."""


def to_json(scenario: Scenario) -> dict[str, Any]:
    """The JSON document of a scenario (`docs/contracts.md`)."""
    found: dict[str, Any] = msgspec.json.decode(to_text(scenario))
    return found


def to_text(scenario: Scenario, order: Order = "of fields") -> bytes:
    """The text of `to_json` without spaces, in UTF-8."""
    document = _document(scenario)
    if scenario.controls or scenario.endpoints:
        # Digests were made of the fractions among their parameters as Python writes them: 1e-05, not 0.00001.
        whole = msgspec.json.decode(msgspec.json.encode(document))
        in_order = json.dumps(whole, sort_keys=order == "alphabetical", separators=(",", ":"), ensure_ascii=False)
        return in_order.encode()
    return msgspec.json.encode(document, order="sorted" if order == "alphabetical" else None)


def _document(scenario: Scenario) -> dict[str, Any]:
    """What the JSON of a scenario has, with its traffic as records."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(replace(scenario, traffic=())))
    found["links"] = [links.shortened(link) for link in found["links"]]
    for cell in found.get("cells", []):
        if cell["name"] == AIR:
            del cell["name"]
    found["traffic"] = [_without_default(entry) for entry in scenario.traffic]
    return found if scenario.hosts else {key: value for key, value in found.items() if key not in NETWORK}


def _without_default(entry: traffic.Traffic) -> traffic.Traffic:
    """An entry whose default protocol msgspec leaves out: equal words may be two objects to it."""
    default = isinstance(entry, traffic.Ping) and entry.protocol == traffic.ICMP
    return replace(entry, protocol=traffic.ICMP) if default else entry


def of_json(document: Mapping[str, Any]) -> Scenario:
    """The scenario in a JSON document; raises `ScenarioUnreadable`."""
    try:
        if not (isinstance(document, Mapping) and "hosts" in document):
            return msgspec.convert(document, Scenario[traffic.Observed])
        scenario = msgspec.convert(_in_full(document), _of_known_kinds())
    except msgspec.ValidationError as error:
        raise ScenarioUnreadable(str(error)) from error
    if (what := references.wrong(scenario)) is not None:
        raise ScenarioUnreadable(what)
    return scenario


def _in_full(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document with a value for each end of its links; what has another shape is left to the reader."""
    given = document.get("links")
    return {**document, "links": [links.in_full(link) for link in given]} if isinstance(given, list) else document


def _of_known_kinds() -> type[Scenario]:
    """The type of scenarios whose traffic is of one of the kinds."""
    kinds: Any = functools.reduce(operator.or_, traffic.FLOWS)
    return Scenario[kinds]
