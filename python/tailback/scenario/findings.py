"""Converts pydantic's errors to findings: position in the file, value, remedy."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tailback.scenario import meant
from tailback.scenario.axes import FIXED
from tailback.scenario.document import Node, nearest
from tailback.scenario.errors import Finding
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc, show
from tailback.scenario.schema import keys_at
from tailback.tc.errors import nearest_hint
from tailback.tc.units import shown

_MISSING = {
    "duration": "give the length of a run: duration: 40s",
    "links": "connect at least two hosts: links: [{ends: [client, server], rate: 1gbit}]",
    "traffic": "give at least one flow: traffic: [{tcp: client -> server}]",
    "ap": "name the access point: {ap: router, stations: [client]}",
    "stations": "name the stations: {ap: router, stations: [client]}",
    "standard": "write 802.11n, 802.11ac or 802.11ax",
    "width": "give the width of the channel: width: 40MHz",
    "mcs": "write an MCS index: mcs: 15",
    "ends": "name the two hosts: ends: [client, router]",
    "at": "give the time of the change: at: 10s",
    "hosts": "name the two hosts: hosts: [client, server]",
}


def problems(error: ValidationError) -> list[Problem]:
    """The errors in single values, with the paths of the file."""
    return [_problem(details) for details in error.errors(include_url=False)]


def located(problem: Problem, tree: Node) -> Finding:
    """The finding for a problem, with its line."""
    message = problem.message + ("" if problem.other is None else _line(nearest(tree, problem.other)))
    return Finding(nearest(tree, problem.loc).where, show(problem.loc), message, problem.hint)


def _line(node: Node) -> str:
    return "" if node.where.line is None else f" (line {node.where.line})"


def _problem(details: ErrorDetails) -> Problem:
    loc = _untagged(details["loc"])
    describe = _DESCRIBE.get(details["type"], _other)
    message, hint = describe(details)
    return Problem(loc, message, hint)


def _untagged(tagged: Loc) -> Loc:
    return tuple(step for step in tagged if not (isinstance(step, str) and _is_tag(step)))


def _is_tag(step: str) -> bool:
    return step == "[key]" or (step.startswith("<") and step.endswith(">"))


def _word(details: ErrorDetails) -> tuple[str, str]:
    context = details.get("ctx", {})
    values = details["input"]
    if isinstance(values, list) and values and str(context["message"]).startswith(f"`{shown(values)}`"):
        return _listed(details["loc"], values)
    return str(context["message"]), str(context["hint"])


def _listed(tagged: Loc, values: list[object]) -> tuple[str, str]:
    """The error of a list where one value is expected, which means an axis to many."""
    loc = _untagged(tagged)
    path = show(loc)
    if len(values) == 1:
        return (
            "is a list, and takes one value",
            f"write the value itself: {loc[-1]}: {shown(values[0])}; several are an axis of `vary`",
        )
    if loc[0] in FIXED:
        return "is a list, and takes one value", f"it is the same for all runs: {loc[-1]}: {shown(values[0])}"
    axis = f'"{path}"' if "[" in path else path
    listed = ", ".join(shown(value) for value in values)
    return "is a list, and takes one value", f"to run it with each of them, vary it: vary: {{{axis}: [{listed}]}}"


def _unknown_key(details: ErrorDetails) -> tuple[str, str]:
    *parent, key = details["loc"]
    known = keys_at(tuple(parent))
    return f"there is no key `{shown(key)}` here", meant.hint(tuple(parent), str(key), known)


def _missing(details: ErrorDetails) -> tuple[str, str]:
    key = str(details["loc"][-1])
    return "is missing", _MISSING.get(key, f"write `{key}: ...`")


def _wrong_type(noun: str, hint: str) -> Callable[[ErrorDetails], tuple[str, str]]:
    def describe(details: ErrorDetails) -> tuple[str, str]:
        value = details["input"]
        return ("is empty" if value is None else f"{quoted(value)} is not {noun}"), hint

    return describe


def _no_scalar(noun: str, reads: Callable[[str], object], hint: str) -> Callable[[ErrorDetails], tuple[str, str]]:
    """The error of a number or a switch, which may be right but for the quotes around it."""
    plain = _wrong_type(noun, hint)

    def describe(details: ErrorDetails) -> tuple[str, str]:
        value = details["input"]
        if isinstance(value, str):
            with contextlib.suppress(ValueError, KeyError):
                reads(value.strip())
                key = _untagged(details["loc"])[-1]
                return f"{quoted(value)} is text, and not {noun}", f"write it without quotes: {key}: {value.strip()}"
        if isinstance(value, list):
            return _listed(details["loc"], value) if value else ("is an empty list", hint)
        return plain(details)

    return describe


def _out_of_range(details: ErrorDetails) -> tuple[str, str]:
    context = details.get("ctx", {})
    if "ge" in context:
        return f"{quoted(details['input'])} is too small", f"it must be at least {context['ge']}"
    return f"{quoted(details['input'])} is too large", f"it must be at most {context['le']}"


def _wrong_length(details: ErrorDetails) -> tuple[str, str]:
    context = details.get("ctx", {})
    least = context.get("min_length", context.get("max_length"))
    actual = context.get("actual_length", 0)
    if not actual:
        return "is empty", _MISSING.get(str(details["loc"][-1]), f"give {least}")
    return f"has {actual} element{'' if actual == 1 else 's'}", f"it must have exactly {least}"


def _not_a_choice(details: ErrorDetails) -> tuple[str, str]:
    expected = str(details.get("ctx", {})["expected"]).replace("'", "").replace(" or ", ", ").split(", ")
    value = details["input"]
    return f"{quoted(value)} is not one of the choices", nearest_hint(str(value), expected)


def _other(details: ErrorDetails) -> tuple[str, str]:
    return f"{quoted(details['input'])} cannot be used: {details['msg']}", "`tailback schema` lists the valid values"


def quoted(value: object) -> str:
    """A value for a message; lists and mappings are not printed."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return f"`{shown(value)}`"


def _not_a_mapping(details: ErrorDetails) -> tuple[str, str]:
    names = details["input"]
    if details["loc"] == ("hosts",) and isinstance(names, list) and names and all(isinstance(n, str) for n in names):
        written = ", ".join(f"{name}: " for name in names)
        return "is a list", f"leave it out, for the links name the hosts, or write hosts: {{{written}}}"
    return _MAPPING(details)


_MAPPING = _wrong_type("a mapping", "write it as `key: value` lines, or in braces: {key: value}")

_SWITCH = {"true": True, "false": False}

_DESCRIBE: dict[str, Callable[[ErrorDetails], tuple[str, str]]] = {
    "word": _word,
    "extra_forbidden": _unknown_key,
    "missing": _missing,
    "string_type": _wrong_type("text", "put it in quotes"),
    "int_type": _no_scalar("a whole number", int, "write a whole number without a unit, such as 4"),
    "float_type": _no_scalar("a number", float, "write a number without a unit, such as 0.5"),
    "bool_type": _no_scalar("true or false", _SWITCH.__getitem__, "write true or false"),
    "list_type": _wrong_type("a list", "write it in brackets: [a, b], or as lines that begin with `- `"),
    "dict_type": _not_a_mapping,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "greater_than_equal": _out_of_range,
    "less_than_equal": _out_of_range,
    "too_short": _wrong_length,
    "too_long": _wrong_length,
    "literal_error": _not_a_choice,
}
