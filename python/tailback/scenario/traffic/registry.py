"""The registry of kinds of traffic: one name per file, which is imported when an experiment has that kind."""

from tailback.on_demand import OnDemand
from tailback.scenario.traffic.kind import Kind
from tailback.scenario.values import Section

KINDS: OnDemand[Kind] = OnDemand(
    "tailback.scenario.traffic", "tcp", "udp", "ping", "call", "game", "request", "page", "video", "endpoint"
)


def with_keys(model: type[Section]) -> Kind | None:
    """The kind with these keys; `None` if they are those of a preset."""
    # It was used, to know the keys.
    return next((row for row in KINDS.used() if issubclass(model, row.keys)), None)


class NotListed(LookupError):
    """A kind of traffic without a name in the registry."""


def of(kind: object) -> Kind:
    """The kind of that name; raises `NotListed` if there is none."""
    found = KINDS.get(str(kind))
    if found is None:
        raise NotListed(
            f"the kind of traffic `{kind}` is not in python/tailback/scenario/traffic/registry.py\n"
            f"  hint: write python/tailback/scenario/traffic/{kind}.py as CONTRIBUTING.md says, and its name there"
        )
    return found
