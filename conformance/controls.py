"""Which controls of the simulator Linux has: those that campaigns compare with a kernel."""

from collections.abc import Mapping

from tailback.algorithms import CoreRegistry

NOT_IN_LINUX: Mapping[str, str] = {
    "newreno": "FreeBSD's",
    "bbr_dev": "patches of 2018 for stacks before 5.1",
    "bbr2": "only in Google's branch",
    "bbr3": "only in Google's branch",
    "prague": "only in the L4S team's tree",
    "bbrp": "of a paper",
    "bbrplus": "of a paper",
}
"""The others, and whose they are."""

IN_LINUX = tuple(row.name for row in CoreRegistry().congestion_controls if row.name not in NOT_IN_LINUX)
"""In the order of the registry. A control that is new here is expected in the kernel."""
