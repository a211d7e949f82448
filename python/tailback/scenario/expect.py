"""What a file expects of the results: `expect: {"ping p99": "< 20ms", jain: "> 0.9"}`, also in a part of the run:
`{is: "< 20ms", after: 20s, until: 30s}`.

Only the form is read here, because the reader of experiment files does not import the analysis; `sweep.expectations`
reads the names of the metrics and judges the results.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from tailback.tc import units
from tailback.tc.errors import WordError
from tailback.tc.units import shown

EXPLAINED = """\
expect: {ping p99: "< 20ms", goodput: {is: "> 8mbit", after: 20s, until: 30s}, total(startup): "< 1"}

A condition is about a metric in the measurement window, or in the part of the run that `after` and `until` name;
or about an expression over samples of `tcp_info`, such as highest(bbr_bw / rate, t > 20). `measure` of `tailback
assess` and `--find` of `tailback search` have the same expressions.

samples:
  bbr_bw, pacing_rate, delivery_rate        Mbit/s
  rtt, min_rtt, bbr_min_rtt, rto            ms
  snd_cwnd, snd_ssthresh, unacked, lost, delivered, total_retrans    segments
  bbr_pacing_gain, bbr_cwnd_gain
  t, age      time of the run, and since the first sample of the flow, in s
  rate        the smallest rate of a link or a policer at that time, in Mbit/s
  startup, drain, up, down, cruise, probe_rtt    phases of BBR, which follow from its gains (REFILL looks like CRUISE)

functions:
  highest(X), lowest(X), middle(X), mean(X)      of the samples
  share(C), times(C)                             the share of samples that meet a condition; how often it begins to hold
  total(C), longest(C)                           for how many seconds it holds, altogether and at a stretch
  first(C), last(C)                              when, in s
  rise(X)                                        of each sample: by how much it exceeds the one before of its flow

A condition is a comparison or a phase, or several with `and`, `or`, `not`. A second argument says among which samples:
longest(rtt > 100, flow("bulk") and t > 5). Phases shorter than `measure.interval` are missed."""

HINT = 'write `<` or `>`, and a value: "< 20ms", "> 0.9", ">= 95% of best"'

PATTERN = r"^\s*(<=|>=|[<>≤≥])\s*[0-9]+(\.[0-9]+)?\s*[a-zA-Zµ%]*(\s+of\s+(the\s+)?best)?\s*$"


KEYS = ("is", "after", "until")
MAPPED_HINT = 'write {is: "< 20ms", after: 20s}, and `until: 30s` if it ends before the run'


class Condition(Struct, frozen=True):
    """The condition on one metric, in the measurement window or in another part of the run."""

    text: str
    after_ns: int | None = None
    until_ns: int | None = None

    @property
    def when(self) -> str:
        """In words: ` after 20s until 30s`."""
        times = (("after", self.after_ns), ("until", self.until_ns))
        return "".join(f" {word} {units.time_word(at)}" for word, at in times if at is not None)

    def window_ns(self, duration_ns: int) -> tuple[int, int] | None:
        """The part of a run of this length that it is about; `None`: the measurement window."""
        if self.after_ns is None and self.until_ns is None:
            return None
        return self.after_ns or 0, min(self.until_ns or duration_ns, duration_ns)


def condition(word: object) -> Condition:
    """Reads the condition on one metric."""
    if not isinstance(word, Mapping):
        return Condition(_text(word))
    unknown = next((key for key in word if key not in KEYS), None)
    if unknown is not None or "is" not in word or len(word) < 2:
        what = "a condition in time" if unknown is None else f"`{shown(unknown)}`"
        raise WordError(
            f"{what} is not complete" if unknown is None else f"{what} is no key of a condition", MAPPED_HINT
        )
    after, until = (units.time(word[key]) if key in word else None for key in KEYS[1:])
    if until is not None and until <= (after or 0):
        raise WordError(f"`until: {shown(word['until'])}` is not after its beginning", MAPPED_HINT)
    return Condition(_text(word["is"]), after, until)


def _text(word: object) -> str:
    if not isinstance(word, str) or re.fullmatch(PATTERN, word) is None:
        raise WordError(f"`{shown(word)}` is not a condition", HINT)
    return " ".join(word.split())
