"""What is looked at in the text of a BPF program before the simulator compiles it: what a kernel
refuses, and a compiler of C does not notice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tailback.kernel.messages import ModuleRefused, Source

RAW = re.compile(r"\(\s*(?:unsigned long long|__u64|u64)\s*\*\s*\w+\s*\)\s*\{")
"""A function with its arguments as they are on a kernel: an array of words."""

CONTROL = re.compile(r'SEC\("\.struct_ops(?:\.link)?"\)')
MAP = re.compile(r"\bBPF_MAP_TYPE_(?!SK_STORAGE\b)(?P<kind>\w+)")
FUNCTION = re.compile(r"\bBPF_PROG\(\s*(?P<name>\w+)\s*(?:,(?P<arguments>[^)]*))?\)")
MEMBER = re.compile(r"\.(?P<member>\w+)\s*=\s*(?:\(\s*void\s*\*\s*\)\s*)?&?(?P<name>\w+)")

CALL = re.compile(r"\bbpf_(?P<verb>[sg]et)sockopt\s*\([^,;]*,\s*(?P<level>\w+)\s*,\s*(?P<option>\w+)\s*,")
OPTIONS: Mapping[str, frozenset[str]] = {
    "set": frozenset({"TCP_CONGESTION", "TCP_BPF_IW", "TCP_BPF_SNDCWND_CLAMP", "SO_MAX_PACING_RATE"}),
    "get": frozenset({"TCP_CONGESTION", "TCP_MAXSEG", "SO_MAX_PACING_RATE"}),
}
"""Options of sockets that mean the same here as on a kernel (kernel/module/bpf/tailback_options.c)."""
NAME = re.compile(r"(?:SO|IP|IPV6|TCP|SK)_[A-Z_]+")
NEAREST: Mapping[str, str] = {
    "SO_SNDBUF": "give the flow `sndbuf` in the experiment",
    "SO_RCVBUF": "give the flow `rcvbuf` in the experiment",
    "SO_RCVLOWAT": "give the flow `rcvlowat` in the experiment",
    "TCP_MAXSEG": "give the flow `mss` in the experiment",
    "TCP_NOTSENT_LOWAT": "give the flow `notsent_lowat` in the experiment",
    "TCP_BPF_RTO_MIN": "set `net.ipv4.tcp_rto_min_us` of the host in the experiment",
    "TCP_RTO_MAX_MS": "set `net.ipv4.tcp_rto_max_ms` of the host in the experiment",
    "TCP_BPF_DELACK_MAX": "do without it: receivers are the simulator's own",
    "IP_TOS": "give the flow `dscp` in the experiment",
    "IPV6_TCLASS": "give the flow `dscp` in the experiment",
}

STRUCT = re.compile(r"^struct tcp_congestion_ops \{(?P<members>.*?)^\}", re.MULTILINE | re.DOTALL)
POINTER = re.compile(r"\(\*(?P<name>\w+)\)\s*\((?P<arguments>[^)]*)\);")

PUT_ASIDE = ("before", "inet_csk", "inet_csk_ca", "tcp_in_slow_start", "tcp_is_cwnd_limited", "tcp_sk")
"""Functions of the kernel that bpf_tracing_net.h gives a program, unless it defines them."""


def check(source: Source, header: str, version: str) -> None:
    """Raises `ModuleRefused` with the line of what is wrong; `header` declares struct tcp_congestion_ops."""
    text = _without_comments(source.text)
    if not source.is_bpf:
        if found := CONTROL.search(text):
            what = "it is a BPF program, by its section .struct_ops"
            raise _refused(source, text, found.start(), what, f"give it a name that ends in .bpf.c, not {source.name}")
        return
    if found := RAW.search(text):
        hint = "name them, so that the simulator can pass them: BPF_PROG(name, struct sock *sk)"
        raise _refused(source, text, found.start(), "it takes its arguments from an array", hint)
    if found := MAP.search(text):
        what = f"the simulator has no map of type {found['kind']}"
        raise _refused(source, text, found.start(), what, "use BPF_MAP_TYPE_SK_STORAGE, the one type that it has")
    controls = list(CONTROL.finditer(text))
    if not controls:
        what = f'`{source.name}` has no struct tcp_congestion_ops in SEC(".struct_ops")'
        raise ModuleRefused(f"{what}\n  hint: add one, with the name and the functions of the control")
    if len(controls) > 1:
        hint = "leave the one to run; the simulator registers no second one"
        raise _refused(source, text, controls[1].start(), f"it has {len(controls)} controls", hint)
    _check_arguments(source, text, _declared(header), version)
    _check_options(source, text)


def has_options(source: Source) -> bool:
    """Whether it is a program that asks for options of sockets."""
    return source.is_bpf and re.search(r"\bbpf_[sg]etsockopt\b", source.text) is not None


def own_functions(text: str) -> Iterator[str]:
    """Those of the kernel's functions that a program defines itself."""
    for name in PUT_ASIDE:
        if re.search(rf"^static\b[^;{{}}=]*\b{name}\s*\(", text, re.MULTILINE):
            yield name


def _check_arguments(source: Source, text: str, declared: Mapping[str, Sequence[str]], version: str) -> None:
    functions = {found["name"]: found for found in FUNCTION.finditer(text)}
    for member in MEMBER.finditer(text):
        known, function = declared.get(member["member"]), functions.get(member["name"])
        if known is None or function is None:
            continue
        own = _split(function["arguments"] or "")
        fits = len(own) <= len(known) and all(
            ("*" in mine) == ("*" in theirs) for mine, theirs in zip(own, known, strict=False)
        )
        if not fits:
            what = f"`{member['member']}` of Linux {version} has the arguments ({', '.join(known)})"
            hint = f"write BPF_PROG({', '.join([member['name'], *known])})"
            raise _refused(source, text, function.start(), what, hint)


def _check_options(source: Source, text: str) -> None:
    for call in CALL.finditer(text):
        verb, option = call["verb"], call["option"]
        if NAME.fullmatch(option) and option not in OPTIONS[verb]:
            what = f"the simulator cannot {verb} `{option}` by bpf_{verb}sockopt"
            has = ", ".join(sorted(OPTIONS[verb]))
            raise _refused(source, text, call.start(), what, NEAREST.get(option, f"do without it; it has {has}"))
    for member in MEMBER.finditer(text):
        found = _body(text, member["name"]) if member["member"] == "release" else None
        if found is not None and (called := re.search(r"\bbpf_[sg]etsockopt\b", text[slice(*found)])):
            what = f"`release` must not call {called[0]}, as on a kernel"
            raise _refused(source, text, found[0] + called.start(), what, "call it in `init`")


def _body(text: str, name: str) -> tuple[int, int] | None:
    """Where a function begins and ends."""
    begun = re.search(rf"\bBPF_PROG\(\s*{name}\b", text)
    ended = None if begun is None else re.compile(r"^\}", re.MULTILINE).search(text, begun.end())
    return None if begun is None or ended is None else (begun.start(), ended.end())


def _declared(header: str) -> dict[str, list[str]]:
    """The arguments of each member of struct tcp_congestion_ops."""
    found = STRUCT.search(_without_comments(header))
    members = "" if found is None else found["members"]
    return {each["name"]: _split(each["arguments"]) for each in POINTER.finditer(members)}


def _split(arguments: str) -> list[str]:
    return [" ".join(each.split()) for each in arguments.split(",") if each.strip() not in ("", "void")]


def _without_comments(text: str) -> str:
    """The text with blanks in the place of comments, so that lines keep their numbers."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.DOTALL)


def _refused(source: Source, text: str, at: int, what: str, hint: str) -> ModuleRefused:
    return ModuleRefused(f"{source.name}, line {text.count(chr(10), 0, at) + 1}: {what}\n  hint: {hint}")
