"""Wi-Fi cells of a resolved scenario."""

from msgspec import field

from tailback.resolved.fields import Options, Part, no_options, written

AIR = "air"
"""Default name of a cell."""


class Edca(Part, frozen=True):
    """The EDCA parameters of an access category."""

    aifsn: int
    cw_min: int
    cw_max: int
    txop_ns: int


class Mode(Part, frozen=True, kw_only=True):
    """Format, width (MHz), streams, MCS index within one stream, and guard interval of a PPDU."""

    format: str
    width: int
    streams: int
    mcs: int
    guard_ns: int


class Driver(Part, frozen=True, kw_only=True):
    """A driver profile, with the options that differ from its defaults."""

    name: str
    options: Options = field(default_factory=no_options)


class SignalChange(Part, frozen=True, kw_only=True):
    """A change of the signal between a station and its access point, in both directions; `None` means unchanged."""

    at_ns: int
    loss_ppm: int | None = None
    snr_cdb: int | None = None


class Station(Part, frozen=True, kw_only=True):
    """One station of a cell."""

    host: int
    mode: Mode
    """The mode; with rate control, its format, width, most streams and shortest guard interval."""
    rate: str = written("fixed")
    loss_ppm: int
    snr_cdb: int | None = written(None)
    driver: Driver
    schedule: tuple[SignalChange, ...] = ()
    """Sorted by time."""


class Cell(Part, frozen=True, kw_only=True, omit_defaults=False):
    """An access point and its stations. Each pair of the two is numbered as a link; each radio is one device."""

    name: str = AIR
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
