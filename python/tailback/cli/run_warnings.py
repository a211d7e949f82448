"""What the warnings about runs mean. Those about a file are in `scenario.lint`.

Here and not where they are made, because the analysis is slow to load.
"""

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "never-steady": (
        "Goodput or TCP RTT climbs, falls, steps or swings throughout the measurement window, so that a longer run has "
        "another mean. The interval of the mean does not show that: all repetitions climb alike. Run longer, with a "
        "longer `measure.warmup`. `window_thirds`, `drift_bias` and `steady_not_before_s` in `summary.json` have the "
        "means of the thirds of the window, by how much at least the mean is off, and when it can be steady."
    ),
    "warm-up-measured": (
        "Goodput or TCP RTT becomes steady inside the measurement window, and what was before changes its mean by more "
        "than 3 %. Let the window begin later by `measure.warmup`."
    ),
    "too-short-to-tell": (
        "The measurement window has fewer than 40 sampling intervals, too few to tell whether the run is steady. "
        "Measure for longer, or with a shorter `measure.interval`."
    ),
    "flow-without-data": (
        "A flow sent throughout the measurement window, or most of it, and its receiver read nothing. Its 0 Mbit/s "
        "may be a mistake in the file: a station out of range, a link that loses everything, a class without a share."
    ),
    "ping-unanswered": "None of the requests of a ping in the measurement window was answered.",
    "kernel-warned": (
        "The kernel of the run printed a WARNING, or noted that memory of it was overwritten, or that a processor was "
        "stuck; on the simulator, the code of a module did (`WARN_ON`). The run went on, and its numbers may be wrong. "
        "`kernel_warnings` in `manifest.json` has the places."
    ),
    "capture": (
        "What a capture cannot tell, or how its numbers are meant: its place, clocks that differ, UDP that counts "
        "as it passed, flows without ACKs or without a SYN."
    ),
    "interval-too-wide": (
        "After the largest number of repetitions that `repeat: until` allows, intervals are still wider than it asks "
        "for."
    ),
    "analysed-again": (
        "The summaries in the folder were of another version of the analysis, and were made again from the tables."
    ),
    "analysis-changed": "The summaries in the folder are of another version of the analysis.",
    "code-not-executed": (
        "The experiment names code (`cc: x.py`, a kernel module), and this command does not run experiments: it "
        "checked everything else. `--trust` has it executed, too; SECURITY.md says what is executed when."
    ),
    "twin-left-out": "The kernel of `run --twin` cannot run a configuration, which has no distance then.",
    "damaged": "The folder of a run changed after it was written: the run was left out, or repeated.",
    "one-repetition": "With one repetition there are no intervals.",
    "few-repetitions": "With so few repetitions no test can show a difference.",
}
"""What each code of a warning about runs means, for `tailback explain`."""
