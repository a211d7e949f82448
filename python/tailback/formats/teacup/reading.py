"""The state of one import: the values of the file, its axes, our variables, and the notes."""

from __future__ import annotations

import functools
import re
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailback.formats.errors import NotReadable
from tailback.formats.teacup.evaluate import Module, NotEvaluated, names_in
from tailback.formats.teacup.notes import Effect, Note
from tailback.limits.arithmetic import Value

MAX_RUNS = 1000

VALUES = (
    "TPCONF_ECN", "TPCONF_delays", "TPCONF_loss_rates", "TPCONF_bandwidths", "TPCONF_aqms", "TPCONF_buffer_sizes",
)  # fmt: skip
"""Lists that configurations use for the values of variables."""


@dataclass(frozen=True)
class Axis:
    """One varied parameter: its labels, each with its values of V_ variables."""

    name: str
    values: Mapping[str, dict[str, Value]]

    @functools.cached_property
    def variables(self) -> frozenset[str]:
        """The V_ variables that it varies."""
        return frozenset(name for each in self.values.values() for name in each)


@dataclass
class Reading:
    """What has been read so far, and what became of it."""

    module: Module
    notes: list[Note]
    axes: list[Axis] = field(default_factory=list)
    repeat: int = 1
    let: dict[str, str] = field(default_factory=dict)
    patches: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    """Our variables by axis and label."""

    def get(self, name: str, kind: type | tuple[type, ...]) -> Any:
        """A value of the file if it has this type, else an empty one."""
        empty = kind[0]() if isinstance(kind, tuple) else kind()
        if name not in self.module.values:
            return empty
        value = self.module.values[name]
        if not isinstance(value, kind):
            self.note(name, f"`{name}` does not have the type that TEACUP expects")
            return empty
        return value

    @functools.cached_property
    def defaults(self) -> dict[str, Value]:
        """The values of V_ variables that are not varied."""
        found: dict[str, Value] = {"V_duration": self.get("TPCONF_duration", (int, float)) or 60}
        for name in ("TPCONF_variables", "TPCONF_variable_list", "TPCONF_variable_defaults"):
            found |= {str(key): value for key, value in self.get(name, dict).items()}
        return found

    @functools.cached_property
    def firsts(self) -> dict[str, Value]:
        """The V_ variables with the first value of each axis."""
        first = {name: value for axis in self.axes for name, value in next(iter(axis.values.values())).items()}
        return {**self.defaults, **first}

    def note(self, name: str, what: str, effect: Effect = Effect.LOST) -> None:
        """Adds a note with the line where `name` was set."""
        line, file = self.module.place(name)
        self.notes.append(Note(line, what, effect, file))

    def varies(self, tree: Any) -> bool:
        """Whether an expression depends on an axis."""
        used = set(names_in(tree))
        return any(axis.variables & used for axis in self.axes)

    def constant(self, tree: Any) -> Value:
        """The value of an expression with the first value of each axis; None without one."""
        if tree is None:
            return None
        try:
            return self.module.value_of(tree, self.firsts)
        except NotEvaluated:
            return None

    def every(self, tree: Any) -> list[Value]:
        """The values that an expression has in any configuration of one axis."""
        used = set(names_in(tree))
        found = []
        for values in [each for axis in self.axes if axis.variables & used for each in axis.values.values()] or [{}]:
            try:
                found.append(self.module.value_of(tree, ChainMap(values, self.firsts)))
            except NotEvaluated:
                continue
        return found

    def word(self, ours: str, tree: Any, shown: Callable[[Any], object]) -> str | None:
        """The word for an expression of V_ variables: a constant, or a variable of ours that an axis sets.

        `shown` makes our word of a value. None where it has no value. Raises `NotReadable` where `shown` does not take
        one of its values.
        """
        return self.word_of(ours, [tree], lambda values: shown(values[0]))

    def word_of(self, ours: str, trees: Sequence[Any], shown: Callable[[list[Any]], object]) -> str | None:
        """As `word`, of several expressions."""
        used = {name for tree in trees for name in names_in(tree)}
        turning = [axis for axis in self.axes if axis.variables & used]

        def word(values: dict[str, Value]) -> str | None:
            try:
                found = [self.module.value_of(tree, ChainMap(values, self.firsts)) for tree in trees]
            except NotEvaluated:
                return None
            try:
                return str(shown(found))
            except (ValueError, TypeError, ArithmeticError) as error:
                raise NotReadable(self._refused(ours, found[0])) from error

        if len(turning) != 1:
            if turning:
                names = ", ".join(axis.name for axis in turning)
                what = f"`{ours}` depends on {names} at once: it has the first value of each"
                self.note("TPCONF_vary_parameters", what)
            return word({})
        axis = turning[0]
        words: dict[str, str] = {}
        for label, values in axis.values.items():
            each = word(values)
            if each is None:
                return None
            words[label] = each
        for label, each in words.items():
            self.let.setdefault(ours, each)
            self.patches.setdefault(axis.name, {}).setdefault(label, {})[ours] = each
        return f"${{{ours}}}"

    def _refused(self, ours: str, value: Value) -> str:
        line = _line_of(self.module, value)
        what = f"line {line}: `{str(value)[:60]}` is no value for `{ours}`"
        return f"{what}\n  hint: write there what TEACUP would give to Linux"


def plain_name(word: str) -> str:
    """A word as part of the name of a variable."""
    return re.sub(r"[^A-Za-z0-9_]", "_", word)


def our_name(word: str, taken: set[str]) -> str:
    """A name of a host or axis that Tailback takes."""
    kept = (letter if letter.isascii() and (letter.isalnum() or letter in "_-.") else "-" for letter in word)
    plain = "".join(kept)[:50]
    name = plain if plain[:1].isalpha() else f"h{plain}"
    while name in taken or name.startswith("lan"):
        name = f"h-{name}"
    return name


def read_axes(reading: Reading) -> list[Axis]:
    """The parameters of TPCONF_vary_parameters; `runs` sets the repetitions."""
    known = reading.get("TPCONF_parameter_list", dict)
    axes = []
    for name in dict.fromkeys(map(str, reading.get("TPCONF_vary_parameters", (list, tuple)))):
        axis = _axis(name, known.get(name))
        if name == "runs":
            count = len(known["runs"][2]) if axis is not None else reading.get("TPCONF_runs", int)
            reading.repeat = min(max(1, count), MAX_RUNS)
        elif axis is None:
            reading.note("TPCONF_vary_parameters", f"the parameter `{name[:60]}` cannot be read and is not varied")
        else:
            axes.append(axis)
    return axes


def _axis(name: str, entry: Value) -> Axis | None:
    if (
        not isinstance(entry, tuple | list)
        or len(entry) < 3
        or not all(isinstance(part, list | tuple) for part in entry[:3])
    ):
        return None
    variables, _, values = entry[:3]
    # The fourth part sets further variables while this parameter is varied.
    beside = entry[3] if len(entry) > 3 and isinstance(entry[3], dict) else {}
    labels: dict[str, dict[str, Value]] = {}
    for value in values:
        parts = value if isinstance(value, tuple | list) else (value,)
        if len(parts) != len(variables) or not all(isinstance(part, str | int | float) for part in parts):
            return None
        own = dict(zip(map(str, variables), parts, strict=True))
        labels["_".join(map(str, parts))] = {str(key): each for key, each in beside.items()} | own
    return Axis(our_name(name, set()), labels) if labels else None


def _line_of(module: Module, value: Value) -> int:
    """The line of a value of a variable: that of the list with the value, else that of the assignment of variables."""
    lists = (name for name in VALUES if _holds(module.values.get(name), value))
    places = (*lists, "TPCONF_variable_defaults", "TPCONF_router_queues", "TPCONF_parameter_list")
    return next((module.lines[name] for name in places if name in module.lines), 1)


def _holds(held: Value, value: Value) -> bool:
    """Whether a list contains a value, or a tuple with it (an axis may set several variables)."""
    return isinstance(held, list | tuple) and any(
        value == each or (isinstance(each, list | tuple) and value in each) for each in held
    )
