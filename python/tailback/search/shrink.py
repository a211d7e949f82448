"""Makes a file that shows something smaller, as Hypothesis does: whatever can be left out or made simpler is.

The passes are: a variable becomes its value; an entry is removed; a number is rounded. The last two are repeated until
neither changes anything. A change is kept if the file is still valid and still shows what was found.
"""

import copy
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Document = dict[str, Any]
Loc = tuple[str | int, ...]
Shows = Callable[[Document], bool]

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([a-zA-Z%]*)")

KEPT = ("duration", "measure")
"""Keys that stay as they are: when and for how long a condition is asked is part of it. A shorter run would soon show
what the start of every flow shows.
"""


def shrunk(document: Document, shows: Shows, kept: Sequence[Loc] = ()) -> Document:
    """The smallest file that can be reached with the values at the places `kept`."""
    document = _without_variables(document, shows)
    shows = _keeping(kept, document, shows)
    while True:
        before = copy.deepcopy(document)
        document = _with_less(document, shows)
        document = _rounder(document, shows)
        if document == before:
            return document


def _keeping(kept: Sequence[Loc], document: Document, shows: Shows) -> Shows:
    """A condition that also keeps these places as they are."""
    values = {loc: _at(document, loc) for loc in kept}

    def both(changed: Document) -> bool:
        return all(found(changed, loc) == value for loc, value in values.items()) and shows(changed)

    return both


def found(value: Any, loc: Loc) -> Any:
    """What is at a place; `None` if nothing is."""
    try:
        return _at(value, loc)
    except (LookupError, TypeError):
        return None


def _without_variables(document: Document, shows: Shows) -> Document:
    """The variables replaced by their values."""
    let = document.get("let", {})
    if not isinstance(let, dict):
        return document
    text = {f"${{{name}}}": value for name, value in let.items()}
    replaced = _replaced({key: value for key, value in document.items() if key != "let"}, text)
    return replaced if shows(replaced) else document


def _replaced(value: Any, text: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return {_inside(key, text): _replaced(each, text) for key, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, text) for each in value]
    return text.get(value, _inside(value, text)) if isinstance(value, str) else value


def _inside(value: str, text: dict[str, Any]) -> str:
    for name, word in text.items():
        value = value.replace(name, str(word))
    return value


def _with_less(document: Document, shows: Shows) -> Document:
    """Without each entry that it can do without, whole branches first."""
    place = 0
    while place < len(locs := list(_locs(document))):
        smaller = copy.deepcopy(document)
        whole, step = _at(smaller, locs[place][:-1]), locs[place][-1]
        del whole[step]
        if locs[place][0] not in KEPT and shows(smaller):
            document = smaller
        else:
            place += 1
    return document


def _rounder(document: Document, shows: Shows) -> Document:
    """With fewer digits in its numbers."""
    for loc in [each for each in _locs(document) if each[0] not in KEPT]:
        for value in _simpler(_at(document, loc)):
            changed = copy.deepcopy(document)
            _at(changed, loc[:-1])[loc[-1]] = value
            if shows(changed):
                document = changed
                break
    return document


def _simpler(value: Any) -> Iterator[str]:
    match = _NUMBER.fullmatch(str(value)) if isinstance(value, str | int | float) else None
    if match is None:
        return
    number, unit = float(match[1]), match[2]
    for digits in (1, 2):
        rounded = float(f"{number:.{digits}g}")
        if rounded != number:
            yield f"{rounded:.10f}".rstrip("0").rstrip(".") + unit


def _locs(value: Any, above: Loc = ()) -> Iterator[Loc]:
    """The places of all entries, those above before those inside."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, each in pairs:
        yield (*above, step)
        yield from _locs(each, (*above, step))


def _at(value: Any, loc: Loc) -> Any:
    for step in loc:
        value = value[step]
    return value
