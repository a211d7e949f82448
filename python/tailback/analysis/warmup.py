"""Warm-up estimated from the data by MSER-5, in addition to the window that the experiment sets.

A series is averaged in batches of five, y₁ … y_m. MSER cuts the first d batches for which the standard error of the
rest is smallest: the d that minimises Σᵢ>d (yᵢ − ȳ_d)² / (m − d)² [white1997]. If the minimum is in the second half,
the series is too short or never becomes steady, and there is no result [hoad2010 §3].

The series are the goodput of all flows together and the mean TCP RTT of the flows, per sampling interval, from the
first byte that a receiver reads to the end of the window. The result is reported but not applied, so that the window is
the same in all configurations.

MSER-5 also cuts series that are constant except for the quantisation of segments by sampling intervals. Therefore a
warning depends on how much the cut part changes the mean over the window (`bias`).
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tailback.analysis.table import Columns, Table
from tailback.analysis.window import NANOSECONDS, Window, nanoseconds

BATCH = 5

MATTERS = 0.03
"""Bias from which we warn, as a fraction: the tolerance of goodput, the smallest of all metrics (`registry`)."""

FEWEST_BATCHES = 10
"""Shorter series give no result."""

Series = npt.NDArray[np.float64]
Tables: TypeAlias = Mapping[str, Columns]


def mser5(values: Series) -> int | None:
    """How many of the first `values` are warm-up, a multiple of five; `None` if MSER-5 gives no result."""
    count = len(values) // BATCH
    if count < FEWEST_BATCHES:
        return None
    batches = np.asarray(values[: count * BATCH], dtype=np.float64).reshape(count, BATCH).mean(axis=1)
    cut = int(np.argmin(_error_of_the_rest(batches)))
    return cut * BATCH if cut <= count // 2 else None


def steady_from(tables: Tables, window: Window, bin_ns: int) -> dict[str, float]:
    """Time from which each series is steady by MSER-5 (s, in time of the run). A series without a result is absent."""
    return steady_times(settling(tables, window, bin_ns))


def bias(tables: Tables, window: Window, bin_ns: int) -> dict[str, float]:
    """By how much the warm-up inside the window moves the mean of each series over the window, as a share of the mean
    of the steady rest: 0.2 is a mean that is 20 % too high. The warm-up is what MSER-5 cuts. A series whose window
    begins when it is steady, or without a result, is absent.
    """
    return biases(settling(tables, window, bin_ns))


def unsettled(summary: Mapping[str, Any]) -> dict[str, float]:
    """The biases of a run that are worth a warning, by series."""
    return {name: share for name, share in summary.get("warm_up_bias", {}).items() if abs(share) > MATTERS}


class Settling(Struct, frozen=True):
    """A value per sampling interval from the first byte on, and where MSER-5 cuts it."""

    values: Series
    start_ns: int
    """The start of the first interval."""
    bin_ns: int
    begin: int
    """The index at which the window begins."""
    cut: int | None

    @property
    def steady_s(self) -> float | None:
        """Time from which it is steady."""
        return None if self.cut is None else round((self.start_ns + self.cut * self.bin_ns) / NANOSECONDS, 6)

    @property
    def bias(self) -> float | None:
        """By how much the warm-up inside the window moves the mean, as a share."""
        if self.cut is None or self.cut <= self.begin:
            return None
        rest = float(self.values[self.cut :].mean())
        return round(float(self.values[self.begin :].mean()) / rest - 1, 6) if rest > 0 else None


def steady_times(series: Mapping[str, Settling]) -> dict[str, float]:
    """As `steady_from`, of these series."""
    return {name: at for name, each in series.items() if (at := each.steady_s) is not None}


def biases(series: Mapping[str, Settling]) -> dict[str, float]:
    """As `bias`, of these series."""
    return {name: share for name, each in series.items() if (share := each.bias) is not None}


def settling(tables: Tables, window: Window, bin_ns: int) -> dict[str, Settling]:
    """The series of a run; none if no receiver read anything."""
    if "flows" not in tables or not len(tables["flows"]):
        return {}
    start = _start(tables, bin_ns)
    whole = Window(start, window.end_ns)
    found = {"goodput_mbps": _total(tables["flows"], whole, bin_ns)}
    if "tcp_info" in tables:
        found |= {"tcp_rtt_ms": rtt} if len(rtt := _mean_rtt(tables["tcp_info"], whole, bin_ns)) else {}
    begin = max(0, -((start - window.start_ns) // bin_ns))
    return {name: Settling(values, start, bin_ns, begin, mser5(values)) for name, values in found.items()}


def _start(tables: Tables, bin_ns: int) -> int:
    """The start of the sampling interval in which the first byte was read."""
    return int(nanoseconds(tables["flows"]).min()) - bin_ns


def _error_of_the_rest(batches: Series) -> Series:
    """Σᵢ>d (yᵢ − ȳ_d)² / (m − d)² for d = 0 … m − 5: fewer than five batches may be equal by chance."""
    # Sums from the end; subtracting the mean first avoids cancellation in the difference of squares.
    centred = batches - batches.mean()
    left = np.arange(len(batches), 0, -1, dtype=np.float64)
    sums, squares = (np.cumsum(part[::-1])[::-1] for part in (centred, centred**2))
    errors = np.maximum(squares - sums**2 / left, 0) / left**2
    return np.asarray(errors[: len(batches) - 4], dtype=np.float64)


def _total(flows: Columns, whole: Window, bin_ns: int) -> Series:
    """Bytes of all flows in each bin; 0 if no flow read."""
    places, count = _places(flows, whole, bin_ns)
    inside = (places >= 0) & (places < count)
    weights = Table.of(flows).numbers("bytes")[inside]
    return np.bincount(places[inside], weights=weights, minlength=count).astype(np.float64)


def _mean_rtt(tcp_info: Columns, whole: Window, bin_ns: int) -> Series:
    """Mean over the samples of each bin; a bin without samples repeats the value before it."""
    places, count = _places(tcp_info, whole, bin_ns)
    rtt = Table.of(tcp_info).numbers("rtt")
    known = (places >= 0) & (places < count) & (rtt > 0)
    if not known.any():
        return np.empty(0)
    samples, sums = (np.bincount(places[known], weights, count) for weights in (None, rtt[known]))
    sampled = np.flatnonzero(samples)
    # The place in `sampled` of the last bin with samples up to this one; of the first one, before it.
    last = np.maximum(np.searchsorted(sampled, np.arange(count), side="right") - 1, 0)
    return np.asarray((sums[sampled] / samples[sampled])[last], dtype=np.float64)


def _places(table: Columns, whole: Window, bin_ns: int) -> tuple[npt.NDArray[np.int64], int]:
    """The bin of each row, by its end `t`, and the number of bins."""
    places = -((nanoseconds(table) - whole.start_ns) // -bin_ns) - 1
    return np.asarray(places, dtype=np.int64), max(0, (whole.end_ns - whole.start_ns) // bin_ns)
