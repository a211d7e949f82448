"""Builds the congestion controls that the user wrote in Python (`docs/your-own-control.md`).

A file is executed once per run, so runs share nothing; each flow has an object of its class. The simulator calls the
object (`crates/python/src/own_control.rs`).
"""

import contextlib
import inspect
import itertools
import json
import sys
import traceback
import types
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from tailback.backends import stalled
from tailback.resolved import Scenario

ACTS = ("on_ack", "cong_control")
"""A class has one of these methods."""

_numbers = itertools.count()


class ControlWrong(Exception):
    """A file cannot be used; the message says why and where."""


class TextControls:
    """Builds the controls of one run from the texts of their files."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._classes: dict[str, type] = {}

    def __bool__(self) -> bool:
        """Whether the scenario has controls of the user."""
        return bool(self._texts)

    def __call__(self, name: str, parameters: str) -> object:
        """An object of the class in the file `name`; `parameters` is a JSON object."""
        if name not in self._classes:
            self._classes[name] = _class_in(name, self._texts[name])
        return _control_object(self._classes[name], name, json.loads(parameters))

    def watched(self) -> contextlib.AbstractContextManager[None]:
        """Ends a call of the user's code by this thread that does not return."""
        return stalled.watched(self._texts) if self._texts else contextlib.nullcontext()

    def described(self, error: BaseException) -> str:
        """An exception of the user's code: file and line of the user, the line itself, and what was raised."""
        if isinstance(error, ControlWrong):
            return str(error)
        whole = "".join(traceback.format_exception_only(error)).strip()
        what = str(error) if isinstance(error, stalled.DidNotReturn) else whole
        place = next(self._places(error), None)
        if place is None:
            return what
        name, line, function = place
        lines = self._texts[name].splitlines()
        text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        return f"{name}, line {line}, in {function}: {what}\n  {text}"

    def _places(self, error: BaseException) -> Iterator[tuple[str, int, str]]:
        """Where the exception passed through the user's files, innermost first."""
        for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
            code = frame.f_code
            if code.co_filename in self._texts:
                yield code.co_filename, line, code.co_qualname if sys.version_info >= (3, 11) else code.co_name


class OwnControls(TextControls):
    """Builds the controls of a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__({source.name: source.text for source in scenario.controls})


def _class_in(name: str, text: str) -> type:
    """Executes a file; returns the class that is the control."""
    last = classes_in(name, text, ACTS)
    if len(last) != 1:
        found = ", ".join(f"`{each.__name__}`" for each in last) or "none"
        raise ControlWrong(f"{name} has to have one class with `on_ack` or `cong_control`; it has {found}")
    return _checked(last[0], name)


def classes_in(name: str, text: str, methods: Collection[str]) -> list[type]:
    """Executes a file; returns its classes with one of the methods that are no base of another."""
    module = types.ModuleType(f"{PurePath(name).stem}_{next(_numbers)}")
    # Dataclasses look their module up while their class is made.
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, name, "exec"), module.__dict__)
    finally:
        del sys.modules[module.__name__]
    own = [each for each in vars(module).values() if inspect.isclass(each) and each.__module__ == module.__name__]
    acting = [each for each in dict.fromkeys(own) if any(hasattr(each, method) for method in methods)]
    return [each for each in acting if not any(other is not each and issubclass(other, each) for other in acting)]


def _checked(control: type, name: str) -> type:
    where = f"{name}: the class `{control.__name__}`"
    if all(hasattr(control, method) for method in ACTS):
        raise ControlWrong(f"{where} has `on_ack` and `cong_control`; remove one of the two")
    if hasattr(control, "on_ack") and not hasattr(control, "on_loss"):
        raise ControlWrong(f"{where} has no `on_loss`, which sets ssthresh: def on_loss(self, flow): ...")
    return control


def _control_object(control: type, name: str, parameters: Mapping[str, Any]) -> object:
    try:
        inspect.signature(control).bind(**parameters)
    except TypeError as error:
        raise ControlWrong(f"{name}: the parameters of `{control.__name__}`: {error}") from None
    except ValueError:
        pass
    return control(**parameters)
