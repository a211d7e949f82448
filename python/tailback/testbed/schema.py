"""The keys of a testbed file, as pydantic models.

Values that become arguments of programs are restricted to valid forms: an address that begins with `-` would be an
option of `ssh`. There is no key for passwords, which would be visible in files and command lines.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

SWITCH = "switch"

DESTINATION = r"[A-Za-z0-9_](?:[A-Za-z0-9._:%-]{0,252}[A-Za-z0-9])?"
USER = r"[A-Za-z_][A-Za-z0-9_.-]{0,31}"
JUMP = rf"(?:{USER}@)?[A-Za-z0-9_](?:[A-Za-z0-9._-]{{0,252}}[A-Za-z0-9])?(?::[0-9]{{1,5}})?"
DEVICE = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}"
_NAME = r"[A-Za-z][A-Za-z0-9_.-]{0,59}"


def wrong(message: str, hint: str) -> PydanticCustomError:
    """An error for an invalid value, with a remedy."""
    return PydanticCustomError("word", "{message}", {"message": message, "hint": hint})


def _matching(pattern: str, noun: str, sample: str) -> BeforeValidator:
    def validate(word: object) -> object:
        if not isinstance(word, str) or not re.fullmatch(pattern, word):
            raise wrong(f"`{str(word)[:60]}` is not {noun}", f"write it as {sample}")
        return word

    return BeforeValidator(validate)


def _path(word: object) -> object:
    if not isinstance(word, str) or not word or not word.isprintable() or "${" in word or word.startswith("-"):
        raise wrong(f"`{str(word)[:60]}` is not the name of a file", "write a path: ~/.ssh/id_testbed")
    return word


def _network(word: object) -> object:
    try:
        ipaddress.IPv4Interface(str(word))
    except ValueError:
        word = None
    if not isinstance(word, str) or "/" not in word:
        raise wrong("is not an IPv4 address with its prefix", "write it as ip does: 10.0.1.1/24")
    return word


def _seconds(word: object) -> object:
    found = re.fullmatch(r"([0-9]{1,4})s", word) if isinstance(word, str) else None
    if found is None or not 5 <= int(found[1]) <= 3600:
        raise wrong(f"`{str(word)[:60]}` is not a time from 5s to 3600s", "write seconds: 15s")
    return int(found[1])


Address = Annotated[str, _matching(DESTINATION, "a host to connect to", "a name or an address: 192.0.2.7")]
User = Annotated[str, _matching(USER, "a user", "a login name: root")]
Jump = Annotated[str, _matching(JUMP, "a jump host", "ssh -J does: user@gateway:22")]
Device = Annotated[str, _matching(DEVICE, "a network device", "ip link shows it: eth1")]
Name = Annotated[str, _matching(_NAME, "a name of a host", "a letter, then letters, digits, `_`, `-` or `.`: h1")]
File = Annotated[str, BeforeValidator(_path)]
Network = Annotated[str, BeforeValidator(_network)]
Seconds = Annotated[int, BeforeValidator(_seconds)]


class _Keys(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Access(_Keys):
    """Settings of `ssh` for a machine; `~/.ssh/config` applies to the rest."""

    user: User | None = Field(None, description="Login name.")
    port: Annotated[int, Field(ge=1, le=65535)] | None = Field(None, description="Port of its sshd.")
    key: File | None = Field(None, description="Private key; default: those of the ssh-agent and the configuration.")
    jump: Jump | None = Field(None, description="Jump host, as for `ssh -J`.")
    known_hosts: File | None = Field(None, description="File of host keys; default: those of ssh.")
    config: File | None = Field(None, description="Configuration of ssh; default: ~/.ssh/config.")
    sudo: bool | None = Field(None, description="The user may run `sudo -n`; without it the user is root.")


def _nothing_said() -> Access:
    return Access.model_validate({})


class Interface(_Keys):
    """A network device of the test network."""

    device: Device | None = Field(
        None,
        description="Name as `ip link` shows it, alone or as this key; without it the device that has `address`.",
        examples=["eth1"],
    )
    address: Network | None = Field(
        None, description="IPv4 address; if the device does not have it, Tailback adds it for the duration of a run."
    )

    @model_validator(mode="after")
    def _named(self) -> Interface:
        if self.device is None and self.address is None:
            raise wrong("names neither a device nor an address", "write eth1, or {address: 10.0.1.1/24}")
        return self


def _bare_device(entry: object) -> object:
    return {"device": entry} if isinstance(entry, str) else entry


class Machine(Access):
    """A host of the experiment."""

    address: Address = Field(description="Address of its sshd, on the management network.", examples=["192.0.2.7"])
    interfaces: Annotated[
        dict[Name, Annotated[Interface, BeforeValidator(_bare_device, json_schema_input_type=Interface | str)]],
        Field(min_length=1),
    ] = Field(
        description="For each neighbour in the experiment, the device of the link to it.", examples=[{"router": "eth1"}]
    )


TAGS = _SWITCH, _MACHINE = "<switch>", "<machine>"
"""Tags that pydantic adds to the path of an error."""


def _kind(entry: object) -> str:
    return _SWITCH if isinstance(entry, str) else _MACHINE


HostEntry = Annotated[
    Annotated[Literal["switch"], Tag(_SWITCH)] | Annotated[Machine, Tag(_MACHINE)], Discriminator(_kind)
]


class Keys(_Keys):
    """A testbed: the machine of each host of an experiment."""

    model_config = ConfigDict(title="Tailback testbed")

    title: str | None = Field(None, description="Title of the testbed.")
    ssh: Access = Field(default_factory=_nothing_said, description="For every machine that does not override it.")
    hosts: Annotated[dict[Name, HostEntry], Field(min_length=1)] = Field(
        description="By name in the experiment: a machine, or `switch` for a device that only connects others."
    )
    links: Literal["cabled", "emulated"] = Field(
        "cabled",
        description="`cabled`: the cables have the rate and delay of the experiment's links; a device of another speed "
        "is refused, and a delay of 1 ms or more gives a warning. `emulated`: HTB at the sender and netem at the "
        "receiver produce them.",
    )
    engine: Literal["agent", "iperf3"] = Field(
        "agent",
        description="What sends and receives the flows. `iperf3` reports every 100 ms at best, and cannot set buffers "
        "separately; the agent always does pings and samples.",
    )
    silence: Seconds = Field(
        15, description="A machine that receives nothing for this time restores itself.", validate_default=False
    )


PLACES: dict[str, Callable[[], tuple[str, ...]]] = {
    "": lambda: tuple(Keys.model_fields),
    "ssh": lambda: tuple(Access.model_fields),
    "host": lambda: tuple(Machine.model_fields),
    "interface": lambda: tuple(Interface.model_fields),
}


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a testbed file (2020-12), for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Keys.model_json_schema()}
