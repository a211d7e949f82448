"""The keys of `hosts`."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from tailback.scenario import defaults
from tailback.scenario.values import Offloads, Ring, Section, SmallQueue, Stack, Switch, Time, number_schema


class Nic(Section):
    """The network cards of a host."""

    ring: Ring = Field(defaults.RING, description="Descriptors of the transmit ring (ethtool -G DEV tx N).")
    bql: Switch = Field(defaults.BQL, description="Byte queue limits of the transmit ring: on or off.")
    interrupts: Time = Field(
        defaults.INTERRUPTS,
        validate_default=True,
        description="Shortest time between two receive interrupts (ethtool -C DEV rx-usecs N); 0: every packet "
        "interrupts.",
    )


class Host(Section):
    """A host or a router."""

    stack: Stack = Field(defaults.STACK, description="Network stack.")
    sysctl: dict[str, int | str | list[int]] = Field(
        default_factory=dict,
        description="Sysctls by full name; tcp_rmem and tcp_wmem take three numbers.",
        examples=[{"net.ipv4.tcp_pacing_ca_ratio": 120}],
    )
    tsq: SmallQueue | None = Field(None, description="TCP Small Queues setting of the flows that this host sends.")
    offloads: Offloads | None = Field(None, description="Segmentation offloads of this host; default: the file's.")
    gro: Switch = Field(
        defaults.GRO,
        description="Generic receive offload: merges consecutive segments of a flow that one interrupt hands over, "
        "on or off.",
    )
    ssthresh: Annotated[int, Field(ge=0, le=1_000_000), number_schema(minimum=0, maximum=1_000_000)] = Field(
        defaults.SSTHRESH,
        description="Initial slow-start threshold of its connections in segments, as of a route "
        "(`ip route … ssthresh`) or, before Linux 5.6, of an earlier connection to the same host; 0: none.",
    )
    nic: Nic = Field(
        default_factory=lambda: Nic.model_validate({}),
        description="Its network cards; a link may override them.",
    )


def _bare_host(entry: object) -> object:
    return {} if entry is None else entry


HostEntry = Annotated[Host, BeforeValidator(_bare_host, json_schema_input_type=Host | None)]
