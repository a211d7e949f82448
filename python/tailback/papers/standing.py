"""The score of the last full set of runs, which comes with Tailback: `score.json` and `kernel.json`.

`python -m tailback.papers.document` writes the first. It names the claims that hold as the papers state their testbeds,
and those that hold in the what-if. `python -m tailback.papers.kernel_document` writes the second: what a real kernel
and the simulator make of a claim under the conditions that a kernel can have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import resources

import msgspec
from msgspec import Struct

from tailback.papers.scorecard import Row

NAME, KERNEL = "score.json", "kernel.json"
HOLDS = {"pass": "holds", "fail": "does not hold", "skipped": "is not measured"}


class Standing(Struct, frozen=True, forbid_unknown_fields=True):
    """The score of a paper: the names of claims by their verdict."""

    holds: Sequence[str]
    misses: Sequence[str]
    not_reproduced: Sequence[str]
    """Of the misses, those whose values are in range without the mechanism of the paper."""
    what_if: Sequence[str] | None = None
    """The claims that hold with what contradicts the paper; absent if there is no what-if."""

    @property
    def claims(self) -> int:
        """The number of claims."""
        return len(self.holds) + len(self.misses)

    @property
    def in_one_line(self) -> str:
        """The score as text."""
        line = f"{len(self.holds)} of {self.claims} claims hold as the paper states its testbed"
        return line if self.what_if is None else f"{line}; what-if: {len(self.what_if)}"


class OnKernel(Struct, frozen=True, forbid_unknown_fields=True):
    """What both sides make of a claim under the conditions of a real kernel."""

    version: str
    """The kernel, as `6.12`."""
    kernel: str
    simulator: str

    @property
    def in_one_line(self) -> str:
        """The verdict of the kernel, and that of the simulator if it is another."""
        verdict = f"Linux {self.version}: {HOLDS[self.kernel]}"
        return verdict if self.kernel == self.simulator else f"{verdict} (simulator beside it: {HOLDS[self.simulator]})"


def on_a_kernel(paper: str) -> Mapping[str, OnKernel]:
    """The verdicts of a real kernel on claims of a paper, by claim."""
    file = resources.files("tailback.papers").joinpath(KERNEL)
    if not file.is_file():
        return {}
    return msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, OnKernel]]).get(paper, {})


def standing(paper: str) -> Standing | None:
    """The score of a paper, if it was measured."""
    file = resources.files("tailback.papers").joinpath(NAME)
    if not file.is_file():
        return None
    found = msgspec.json.decode(file.read_bytes(), type=dict[str, Standing])
    return found.get(paper)


def of_rows(stated: Sequence[Row], what_if: Sequence[Row] | None) -> Standing:
    """The score of measured claims."""
    return Standing(
        [row.claim.id for row in stated if row.status == "pass"],
        [row.claim.id for row in stated if row.status != "pass"],
        [row.claim.id for row in stated if row.unwitnessed],
        None if what_if is None else [row.claim.id for row in what_if if row.status == "pass"],
    )


def as_bytes(found: Mapping[str, Standing]) -> bytes:
    """The file with the scores of the papers."""
    plain = {name: {key: value for key, value in msgspec.structs.asdict(one).items() if value is not None}
             for name, one in found.items()}  # fmt: skip
    return (json.dumps(plain, indent=1) + "\n").encode()


def as_bytes_of_kernels(found: Mapping[str, Mapping[str, OnKernel]]) -> bytes:
    """The file with the verdicts of kernels, by paper and claim."""
    plain = {
        paper: {claim: msgspec.structs.asdict(one) for claim, one in claims.items()} for paper, claims in found.items()
    }
    return (json.dumps(plain, indent=1) + "\n").encode()
