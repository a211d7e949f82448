"""The keys of Wi-Fi cells."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tailback.scenario import defaults
from tailback.scenario.schema.links import schedule_schema
from tailback.scenario.values import (
    Beacons,
    ChangedLoss,
    Distance,
    Drivers,
    EdcaBySide,
    Guard,
    Loss,
    Mcs,
    Name,
    RateControl,
    Section,
    Snr,
    Streams,
    Time,
    Width,
)


def _whole_name(word: object) -> object:
    """`802.11ax` for `ax` or `11ax`."""
    letters = str(word).removeprefix("802.").removeprefix("11").lower()
    return f"802.11{letters}" if letters in ("n", "ac", "ax") else word


def _nothing_hidden() -> list[list[str]]:
    # Instead of `list`, whose signature pydantic would find out by compiling its text.
    return []


class CellHosts(Section):
    """The hosts of a Wi-Fi cell."""

    ap: Name = Field(description="The access point.", examples=["router"])
    stations: Annotated[list[Name], Field(min_length=1)] = Field(
        description="The stations, which reach each other through the access point.", examples=[["client"]]
    )


class SignalChange(Section):
    """A change of the signals of stations during the run; stations without a new value keep theirs."""

    at: Time = Field(description="Time of the change, since the start of the run.")
    snr: Snr = Field(defaults.SNR, validate_default=True, description="New signal-to-noise ratio; or by station.")
    distance: Distance = Field(
        defaults.DISTANCE, validate_default=True, description="New distance to the access point; or by station."
    )
    loss: ChangedLoss = Field(None, validate_default=True, description="New share of MPDUs lost; or by station.")

    def changed(self, station: str) -> bool:
        """Whether it changes anything of this station."""
        return any(each.of(station) is not None for each in (self.snr, self.distance, self.loss))


class _Repeating:
    """The JSON Schema of a list of changes, which may repeat."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return schedule_schema(handler(core), [])


SignalSchedule = Annotated[list[SignalChange], _Repeating()]


class Wifi(Section):
    """A Wi-Fi cell: an access point and its stations on one channel."""

    wifi: CellHosts = Field(description="The access point and the stations.")
    name: Name | None = Field(
        None,
        description="Name of the cell in `qdiscs` and tables: `router -> air` is the radio of router. Default: air, or "
        "air1, air2, ... if there are several cells.",
    )
    standard: Annotated[Literal["802.11n", "802.11ac", "802.11ax"], BeforeValidator(_whole_name)] = Field(
        description="Frame format: HT, VHT or HE. `ax` is read as 802.11ax."
    )
    band: Literal["2.4GHz", "5GHz"] = Field(defaults.BAND, description="Frequency band of the channel.")
    width: Width = Field(description="Width of the channel: 20MHz to 160MHz.")
    streams: Streams = Field(
        defaults.STREAMS,
        validate_default=True,
        description="Number of spatial streams, one or by station; with 802.11n the MCS determines it.",
    )
    mcs: Mcs = Field(
        description="MCS index in both directions; with 802.11n 0 to 31, which includes the streams. One for all "
        "stations, or by station: {near: 15, far: 0}."
    )
    guard: Guard = Field(defaults.GUARD, validate_default=True, description="Guard interval.")
    driver: Drivers = Field(
        defaults.DRIVER,
        validate_default=True,
        description="Driver of all radios, `ath9k` or {name: ath9k, slots: 1}, or by host: {ap: ath9k, client: "
        "ath9k_htc}. See `tailback list driver`, and `tailback explain ath9k` for its options.",
    )
    rate: RateControl = Field(
        defaults.RATE_CONTROL,
        validate_default=True,
        description="Rate control: `fixed` always uses the MCS; `minstrel` begins with the slowest mode and chooses "
        "among all MCSs with up to the given streams and guard interval; or by station.",
    )
    loss: Loss = Field(
        defaults.LOSS, validate_default=True, description="Share of MPDUs lost, in both directions; or by station."
    )
    snr: Snr = Field(
        defaults.SNR,
        validate_default=True,
        description="Signal-to-noise ratio, such as 25dB, which determines the loss in each mode; or by station.",
    )
    distance: Distance = Field(
        defaults.DISTANCE,
        validate_default=True,
        description="Distance to the access point, such as 10m, which determines the SNR; or by station.",
    )
    schedule: SignalSchedule = Field(
        [], description="Changes of the signals during the run, sorted by time, such as a fade; or a list that repeats."
    )
    channel: Name | None = Field(None, description="Cells with the same name share the channel.")
    hidden: list[Annotated[list[Name], Field(min_length=2, max_length=2)]] = Field(
        default_factory=_nothing_hidden,
        description="Pairs of hosts on this channel that do not hear each other.",
        examples=[[["near", "far"]]],
    )
    beacons: Beacons = Field(None, description="Rate of the beacons of the access point; without it there are none.")
    edca: EdcaBySide = Field(
        default_factory=dict,
        description="EDCA parameters: `hostapd` for hostapd's settings of an access point, or by category: {be: "
        "{cwmax: 63}}; {ap: hostapd} for one side.",
    )
    rts: bool = Field(defaults.RTS, description="RTS and CTS precede every PPDU.")
    encryption: Literal["open", "ccmp"] = Field(defaults.ENCRYPTION, description="CCMP adds 16 bytes to an MPDU.")
