"""A small registry of algorithms, so that tests of the experiment file do not need the compiled simulator."""

import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tailback.resolved import to_json
from tailback.scenario import Parameter, Registry, Row, ScenarioError, loads


@dataclass(frozen=True)
class FixedRegistry:
    """A registry whose rows are written down here."""

    qdiscs: tuple[Row, ...]
    congestion_controls: tuple[Row, ...]
    drivers: tuple[Row, ...]

    def resolved_qdisc(self, kind: str, given: Mapping[str, int], mtu: int) -> dict[str, int]:  # noqa: ARG002
        """No options conflict here."""
        return dict(given)


LIMIT = Parameter("limit", "packets", 1000, 1, 100_000, "packets held at most")

REGISTRY = FixedRegistry(
    qdiscs=(
        Row("pfifo", "one queue", "", (Parameter("limit", "packets", None, 1, 100_000, "packets held at most"),)),
        Row("bfifo", "one queue", "", (Parameter("limit", "bytes", None, 1, 2**32, "bytes held at most"),)),
        Row("pfifo_fast", "three bands", "", ()),
        Row(
            "fq_codel",
            "flow queues with CoDel",
            "",
            (
                LIMIT,
                Parameter("target", "time", 5_000_000, 1, 10**9, "acceptable sojourn time"),
                Parameter("ecn", "flag", 1, 0, 1, "marks instead of drops"),
            ),
        ),
        Row(
            "htb",
            "a shaper",
            "",
            (
                Parameter("rate", "rate", None, 8, 10**12, "rate of the shaper", required=True),
                Parameter("burst", "bytes", None, 1, 2**30, "bytes at once"),
            ),
            classful=True,
        ),
    ),
    congestion_controls=(
        Row("reno", "", "", ()),
        Row("cubic", "", "", (Parameter("hystart", "flag", 1, 0, 1, "leaves slow start early"),)),
        Row("bbr", "", "", (Parameter("cwnd_gain", "number", None, 1, 1000, "percent of the BDP"),)),
    ),
    drivers=(
        Row("ath9k", "", "", (Parameter("slots", "number", 2, 1, 100, "aggregates in the hardware queue"),)),
        Row("ath9k_htc", "", "", ()),
        Row("generic", "", "", ()),
    ),
)


@pytest.fixture
def registry() -> Registry:
    return REGISTRY


Refusal = Callable[..., str]


@pytest.fixture
def refusal(registry: Registry) -> Refusal:
    """The error message for an invalid file, which is called `access21.yaml`."""

    def refuse(text: str, *overrides: str) -> str:
        with pytest.raises(ScenarioError) as caught:
            loads(text, overrides, registry, file="access21.yaml")
        return str(caught.value)

    return refuse


@pytest.fixture
def scenario(registry: Registry) -> Callable[..., dict[str, Any]]:
    """The resolved scenario of the first run of a file."""

    def resolve(text: str, *overrides: str) -> dict[str, Any]:
        return to_json(loads(text, overrides, registry).runs()[0].scenario)

    return resolve


@pytest.fixture(scope="module")
def tc() -> Iterator[list[str]]:
    """`tc` in a network namespace of its own, with a device `d0`."""
    found = shutil.which("tc")
    if found is None:
        pytest.skip("needs tc: scripts/test-packages.sh, as root")
    name = f"tailback-tc-{uuid.uuid4().hex[:8]}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no network namespace can be made here: {made.stderr.strip()}")
    inside = ["ip", "netns", "exec", name]
    try:
        link = ["ip", "link", "add", "d0", "type", "veth", "peer", "name", "d1"]
        if subprocess.run([*inside, *link], check=False, capture_output=True).returncode:
            pytest.skip("no veth can be made here")
        yield [*inside, found]
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False)
