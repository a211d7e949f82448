"""The registry of kinds of traffic: one row per file."""

from tailback.scenario.traffic import call, game, page, ping, request, tcp, udp, video
from tailback.scenario.traffic.kind import Kind

ROWS: tuple[Kind, ...] = (tcp.ROW, udp.ROW, ping.ROW, call.ROW, game.ROW, request.ROW, page.ROW, video.ROW)

KINDS: dict[str, Kind] = {row.kind: row for row in ROWS}


class NotListed(LookupError):
    """A kind of traffic without a row in the registry."""


def of(kind: object) -> Kind:
    """The kind of that name; raises `NotListed` if there is none."""
    found = KINDS.get(str(kind))
    if found is None:
        raise NotListed(
            f"the kind of traffic `{kind}` has no row in python/tailback/scenario/traffic/registry.py\n"
            f"  hint: write python/tailback/scenario/traffic/{kind}.py as CONTRIBUTING.md says, and its row"
        )
    return found
