"""What distinguishes the stations of Wi-Fi cells from each other, in words."""

from collections.abc import Callable, Sequence

from tailback.resolved import Scenario
from tailback.resolved.wifi import Station

TRAITS: Sequence[Callable[[Station], str]] = (
    lambda station: "" if station.snr_cdb is None else f"SNR {station.snr_cdb / 100:g} dB",
    lambda station: station.mode.format,
    lambda station: f"{station.mode.width} MHz",
    lambda station: f"{station.mode.streams} stream{'' if station.mode.streams == 1 else 's'}",
    lambda station: "" if station.rate != "fixed" else f"MCS {station.mode.mcs}",
    lambda station: station.driver.name,
)
"""What may distinguish stations, in words."""


def station_traits(scenario: Scenario) -> dict[str, str]:
    """For each station, what not all have in common: `MCS 9`; empty if all are alike."""
    stations = [station for cell in scenario.cells for station in cell.stations]
    if not stations:
        return {}
    telling = [trait for trait in TRAITS if len({trait(station) for station in stations}) > 1]
    names = scenario.host_names
    return {names[station.host]: ", ".join(filter(None, (trait(station) for trait in telling))) for station in stations}


def traits_of_traffic(scenario: Scenario) -> dict[str, tuple[str, ...]]:
    """For each entry of traffic, what distinguishes the stations at its ends."""
    stations = {host: trait for host, trait in station_traits(scenario).items() if trait}
    if not stations:
        return {}
    names = scenario.host_names
    ends = ((entry.name, (names[entry.source], names[entry.target])) for entry in scenario.flows)
    return {name: tuple(dict.fromkeys(stations[host] for host in hosts if host in stations)) for name, hosts in ends}
