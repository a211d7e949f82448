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
