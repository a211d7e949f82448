"""Opens results folders for commands; damaged runs are reported on stderr and left out."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from tailback import results
from tailback.cli import failures, show
from tailback.cli.options import Selection
from tailback.results import Results, RunDamaged

Made = TypeVar("Made")


def opened(folder: Path) -> Results:
    """The undamaged runs in `folder`. Says if their summaries are of another version of the analysis."""
    found = results.open_results(folder)
    left_out(found.damaged)
    if found.remark is not None:
        show.remark(found.remark)
    return found


def selected(selection: Selection, beside: Sequence[Path] = ()) -> Results:
    """The undamaged runs that `--where` selects, in a folder and in further folders (`--with`)."""
    found = opened(selection.folder)
    if beside:
        found = results.combined([found, *map(opened, beside)])
    return found.select(**_wanted_values(selection.where or []))


def two(words: Sequence[str], where: Sequence[str]) -> tuple[Results, Results]:
    """The undamaged runs of two folders, `before after`, or of two values of one, `DIR cc=cubic cc=bbr`."""
    places, parts = [word for word in words if not _is_part(word)], [word for word in words if _is_part(word)]
    match len(places), len(parts):
        case 2, 0:
            chosen = [(opened(Path(place)), list(where)) for place in places]
        case 1, 2:
            _of_one_axis(places[0], parts)
            whole = opened(Path(places[0]))
            chosen = [(whole, [*where, part]) for part in parts]
        case _:
            raise failures.WrongInput(
                "two sides are compared\n  hint: name two folders, tailback compare before after, "
                "or two values of an axis of one: tailback compare results/first cc=cubic cc=bbr"
            )
    reference, candidate = (found.select(**_wanted_values(words)) for found, words in chosen)
    return reference, candidate


def _of_one_axis(place: str, parts: Sequence[str]) -> None:
    """Refuses two values that are of different axes: their runs may be the same, or differ in both."""
    first, second = (part.partition("=")[0].strip() for part in parts)
    if first != second:
        raise failures.WrongInput(
            f"`{first}` and `{second}` are two axes, and two values of one are compared\n"
            f"  hint: name another value of `{first}`, and hold `{second}` with --where: "
            f"tailback compare {place} {parts[0]} {first}=OTHER --where {parts[1]}"
        )


def _is_part(word: str) -> bool:
    """Whether a word is `AXIS=VALUE`, and not a folder with this name."""
    return "=" in word and not Path(word).exists()


def _wanted_values(words: Sequence[str]) -> dict[str, list[str]]:
    """The values that `--where` names, by axis: `cc=cubic cc=bbr` or `cc=[cubic, bbr]`."""
    wanted: dict[str, list[str]] = {}
    for word in words:
        for axis, text in failures.pairs([word], "--where").items():
            wanted.setdefault(axis, []).extend(_values(text) if text.startswith("[") else [text])
    return wanted


def _values(text: str) -> list[str]:
    """The labels of a list of values."""
    from tailback import scenario

    try:
        return scenario.labels(text)
    except scenario.ScenarioError:
        message = f"--where: `{text}` is not a list of values\n  hint: write --where 'cc=[cubic, bbr]'"
        raise failures.WrongInput(message) from None


def over_undamaged(found: Results, use: Callable[[Results], Made]) -> Made:
    """Calls `use` with the runs. If it finds a damaged run while reading tables, calls it again without that run."""
    while True:
        try:
            return use(found)
        except RunDamaged as damaged:
            found = found.without(damaged)
            left_out([damaged])


def left_out(damaged: Iterable[RunDamaged]) -> None:
    """Reports damaged runs on stderr."""
    show.errors(results.left_out(damaged))
