"""What a reader of a run must know before believing its numbers, in words: the warnings in `summary.json`.

Each has a `code`, a `severity`, a `text` and a `hint`, as the findings of `tailback check`, and an `extent`, by which
the worst of several with one code is found. The warnings of many runs are one for each code: the worst, and how many
there are (`over`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from tailback.analysis.measured import Measured
from tailback.analysis.metric import Summary
from tailback.analysis.sockets import HANDSHAKE
from tailback.analysis.steadiness import FEWEST_BINS, THIRDS
from tailback.analysis.warmup import unsettled
from tailback.analysis.window import NANOSECONDS

TESTED = ("never-steady", "warm-up-measured")
"""The codes that come from a test of one run, which fails by chance, too."""

MAX_NAMED = 3
"""The largest number of flows or configurations that a warning names."""

SERIES: Mapping[str, tuple[str, str]] = {"goodput_mbps": ("goodput", "Mbit/s"), "tcp_rtt_ms": ("TCP RTT", "ms")}

Severity: TypeAlias = Literal["warning", "info"]
Row: TypeAlias = tuple[Mapping[str, str], Summary]
"""The axes of a run and its summary."""


class Caution(Struct, frozen=True):
    """A warning about one run, or the worst of those of `count` of `runs` runs."""

    code: str
    severity: Severity
    text: str
    hint: str
    extent: float = 1.0
    count: int = 1
    runs: int = 1
    axes: Mapping[str, str] = {}
    """The configuration of the worst."""
    places: Sequence[Mapping[str, str]] = ()
    """All configurations that it is about, if there are several."""

    def __str__(self) -> str:
        said = f"{self.severity}: {self.text} [{self.code}]"
        if self.runs > 1:
            said += f"\n  so in {self.count} of {self.runs} runs{self._where()}"
        return f"{said}\n  hint: {self.hint}"

    def _where(self) -> str:
        if not self.axes:
            return ""
        others = [place for place in self.places if place != self.axes]
        if not others:
            return f": {_label(self.axes)}"
        more = f" and {len(others) - MAX_NAMED} more configurations" if len(others) > MAX_NAMED else ""
        return f": the worst is {_label(self.axes)}; also {'; '.join(map(_label, others[:MAX_NAMED]))}{more}"


def _label(axes: Mapping[str, str]) -> str:
    return ", ".join(axes.values())


def of_run(run: Measured) -> list[dict[str, Any]] | None:
    """The warnings about a run, given its other metrics; `None` if there are none."""
    return [_as_entry(caution) for make in _CAUTIONS for caution in make(run)] or None


def _as_entry(caution: Caution) -> dict[str, Any]:
    fields = ("code", "severity", "text", "hint", "extent")
    return {name: to_builtins(caution)[name] for name in fields}


def of_kernel(said: Sequence[str]) -> list[dict[str, Any]]:
    """The warning that follows from those of the kernel of a run; none if it has none."""
    if not said:
        return []
    more = f", and {len(said) - 1} more" if len(said) > 1 else ""
    text = f"something in the kernel is wrong, it says: {said[0]}{more}"
    hint = "the numbers of this run may be wrong, too: `kernel_warnings` and `module_log` in its manifest have the rest"
    return [_as_entry(Caution("kernel-warned", "warning", text, hint, len(said)))]


def over(rows: Sequence[Row]) -> list[Caution]:
    """The warnings in the summaries of these runs, one for each code, in the order of their first."""
    found: dict[str, list[Caution]] = {}
    for axes, each in _confirmed(rows):
        found.setdefault(each["code"], []).append(Caution(**each, axes=axes))
    return [_worst(alike, len(rows)) for alike in found.values()]


def _worst(alike: Sequence[Caution], runs: int) -> Caution:
    places = [dict(place) for place in dict.fromkeys(tuple(each.axes.items()) for each in alike)]
    return replace(max(alike, key=lambda each: each.extent), count=len(alike), runs=runs, places=places)


def _confirmed(rows: Sequence[Row]) -> Iterator[tuple[Mapping[str, str], Mapping[str, Any]]]:
    """The warnings of each run, without what a test found in half of the repetitions of a configuration or fewer: what
    is so by itself is found in most of them.
    """
    rows = [(axes, _about_run(summary)) for axes, summary in rows]
    repetitions: dict[tuple[tuple[str, str], ...], int] = {}
    found: dict[tuple[tuple[tuple[str, str], ...], str], int] = {}
    for axes, summary in rows:
        place = tuple(axes.items())
        repetitions[place] = repetitions.get(place, 0) + 1
        for each in summary.get("warnings", ()):
            found[place, each["code"]] = found.get((place, each["code"]), 0) + 1
    for axes, summary in rows:
        place = tuple(axes.items())
        for each in summary.get("warnings", ()):
            if each["code"] not in TESTED or 2 * found[place, each["code"]] > repetitions[place]:
                yield axes, each


def _about_run(summary: Summary) -> Summary:
    """The summary without the warnings about the file, which are printed before the runs: they name a key of it."""
    return {"warnings": [each for each in summary.get("warnings", ()) if "key" not in each]}


def _never_steady(run: Measured) -> Iterator[Caution]:
    unsteady = [name for name, state in run.found.get("steadiness", {}).items() if state == "unsteady"]
    if not unsteady:
        return
    thirds, biases = run.found["window_thirds"], run.found.get("drift_bias", {})
    said = []
    for name in unsteady:
        noun, unit = SERIES[name]
        values = ", ".join(f"{thirds[name][third]:.4g}" for third in THIRDS)
        off = f", its mean at least {_off(biases[name])}" if name in biases else ""
        said.append(f"{noun} was {values} {unit} in the first, middle and last third of the window{off}")
    text = f"never steady in this window: {'; '.join(said)}"
    ended = run.courses["goodput_mbps"].ended_s if "goodput_mbps" in unsteady else None
    hint = _longer(run, max(run.found["steady_not_before_s"].values())) if ended is None else _shorter(ended)
    yield Caution("never-steady", "warning", text, hint, round(max(map(_spread, _of(thirds, unsteady))), 6))


def _of(thirds: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> list[list[float]]:
    return [list(thirds[name].values()) for name in names]


def _spread(values: Sequence[float]) -> float:
    """How far apart the thirds are, as a share of their mean."""
    mean = sum(values) / len(values)
    return (max(values) - min(values)) / mean if mean > 0 else 0.0


def _off(bias: float) -> str:
    return f"{abs(bias):.0%} too {'low' if bias < 0 else 'high'}".replace("%", " %")


def _longer(run: Measured, at: float) -> str:
    """What would be steady: a window that begins then, and that is as long as what is left out before it."""
    end = run.window.end_ns / NANOSECONDS
    known = f"about {at:.0f} s, by the pace of the thirds" if at > end else f"{end:.0f} s"
    return (
        f"run longer: it is not steady before {known}. Let the window begin then and the run last {2 * at:.0f} s "
        "(`duration`, `measure.warmup`, and `stop` of the traffic), and see whether this warning has gone"
    )


def _shorter(ended: float) -> str:
    """What would be steady where the traffic ends before the window."""
    return (
        f"the traffic ended at about {ended:.4g} s and the window goes on: let the run end with it "
        f"(`duration: {ended:.4g}s`), or let the traffic last"
    )


def _warm_up(run: Measured) -> Iterator[Caution]:
    states = run.found.get("steadiness", {})
    late = {name: share for name, share in unsettled(run.found).items() if states.get(name) == "steady"}
    if late:
        at = max(run.found["steady_from_s"][name] for name in late)
        said = " and ".join(f"the mean {SERIES[name][0]} {_off(share)}" for name, share in late.items())
        hint = f"raise `measure.warmup` until the window begins at {at:g} s"
        extent = max(map(abs, late.values()))
        yield Caution("warm-up-measured", "warning", f"the warm-up inside the window makes {said}", hint, extent)


def _too_short(run: Measured) -> Iterator[Caution]:
    short = [name for name, state in run.found.get("steadiness", {}).items() if state == "short"]
    if short:
        bins, interval_ms = max(len(run.courses[name].inside) for name in short), run.measure.bin_ns / 1e6
        text = (
            f"too short to tell whether {' and '.join(SERIES[name][0] for name in short)} "
            f"{'is' if len(short) == 1 else 'are'} steady: the window has "
            f"{bins} sampling intervals, and {FEWEST_BINS} are needed"
        )
        longer_s = FEWEST_BINS * run.measure.bin_ns / NANOSECONDS
        hint = f"measure for {longer_s:g} s or more, or with a shorter `measure.interval` than {interval_ms:g}ms"
        yield Caution("too-short-to-tell", "info", text, hint, FEWEST_BINS - bins)


def _without_data(run: Measured) -> Iterator[Caution]:
    names, held = run.found.get("flows_without_data", []), run.found.get("held", {})
    if names:
        unopened = [name for name in names if HANDSHAKE in held.get(name, {})]
        silent = [name for name in names if name not in unopened]
        said = []
        if unopened:
            said.append(f"the handshake of {_named(unopened)} was never answered")
        if silent:
            they = "it" if len(silent) == 1 else "they"
            said.append(f"nothing of {_named(silent)} arrived in the window, though {they} sent throughout")
        hint = "see what was dropped, and where: `drops` in `summary.json`, `tailback check`, `tailback plot -p queue`"
        yield Caution("flow-without-data", "warning", "; ".join(said), hint, len(names))


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(f"`{name}`" for name in names[:MAX_NAMED]) + more


def _unanswered(run: Measured) -> Iterator[Caution]:
    table = run.tables.get("ping")
    if table is None:
        return
    inside = run.window.samples(table)
    words = inside.words("ping")
    lost = [name for name in words.present() if not (inside.where(words.among([name])).numbers("rtt_ms") >= 0).any()]
    if lost:
        flows = ", ".join(f"`{name}`" for name in lost[:MAX_NAMED])
        more = f" and {len(lost) - MAX_NAMED} more" if len(lost) > MAX_NAMED else ""
        hint = "see what was dropped, and where: `drops` in `summary.json`, `tailback check`"
        yield Caution("ping-unanswered", "warning", f"no request of {flows}{more} was answered", hint, len(lost))


_CAUTIONS: Sequence[Callable[[Measured], Iterator[Caution]]] = (
    _never_steady, _warm_up, _too_short, _without_data, _unanswered,
)  # fmt: skip
