"""Wi-Fi cells of a resolved scenario."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from tailback.resolved.fields import STRICT, Options

AIR = "air"
"""Default name of a cell."""


def _is_air(name: object) -> bool:
    return name == AIR


ABSENT_IF_AIR: Any = Field(exclude_if=_is_air)


@dataclass(frozen=True)
class Edca:
    """The EDCA parameters of an access category."""

    __pydantic_config__ = STRICT

    aifsn: int
    cw_min: int
    cw_max: int
    txop_ns: int


@dataclass(frozen=True, kw_only=True)
class Mode:
    """Format, width (MHz), streams, MCS index within one stream, and guard interval of a PPDU."""

    __pydantic_config__ = STRICT

    format: str
    width: int
    streams: int
    mcs: int
    guard_ns: int


@dataclass(frozen=True, kw_only=True)
class Driver:
    """A driver profile, with the options that differ from its defaults."""

    __pydantic_config__ = STRICT

    name: str
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Station:
    """One station of a cell."""

    __pydantic_config__ = STRICT

    host: int
    mode: Mode
    """The mode; with rate control, the highest one."""
    rate: str = "fixed"
    loss_ppm: int
    snr_cdb: int | None = None
    driver: Driver


@dataclass(frozen=True, kw_only=True)
class Cell:
    """An access point and its stations. Each pair of the two is numbered as a link; each radio is one device."""

    __pydantic_config__ = STRICT

    name: Annotated[str, ABSENT_IF_AIR] = AIR
    """The name of the cell in the names of devices: `access -> air`."""
    access_point: int
    stations: tuple[Station, ...]
    band: str
    channel: str | None = None
    hidden: tuple[tuple[int, int], ...] = ()
    """Pairs of hosts on the channel that do not hear each other."""
    rts: bool
    beacon_bps: int | None = None
    access_point_edca: tuple[Edca, ...] | None = None
    """Voice, video, best effort, background."""
    station_edca: tuple[Edca, ...] | None = None
    mpdu_overhead: int
    driver: Driver
