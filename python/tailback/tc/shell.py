"""Finds the commands of `tc` in pasted text: a line, a script, a batch file of `tc -b`, or what `tc show` printed.

Nothing is executed. Of the shell's language, comments, quotes, variables with plain values, `\\` at the end of a line,
redirections, here-documents of `tc -b`, `;`, `&&` and `||` are read, and what runs `tc` elsewhere (`ip netns exec`,
`docker exec`). Commands that change nothing here (`echo`, `modprobe`, `tc qdisc show`) are left out; others, and the
shell's `if`, `for` and functions, are refused with what to write instead.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from tailback.tc.errors import WordError
from tailback.tc.script_words import BACKGROUND, CARRIERS, FOREIGN, IGNORED, PROMPTS, SHELL
from tailback.tc.units import shown

Verb = Literal["qdisc", "class", "filter"]
VERBS: tuple[Verb, ...] = ("qdisc", "class", "filter")

CHANGES = ("add", "change", "replace", "link", "del", "delete")
"""What commands do to an object; all others show it."""
_SHOWS = ("show", "list", "ls", "lst", "get", "help")
_ACTIONS = (*CHANGES, *_SHOWS)
"""In the order in which `tc` tries them: `tc qdisc a` adds."""

PRINTED = "printed"
"""The action of a line that `tc show` printed."""


class Command(Struct, frozen=True):
    """A command of `tc`, or a line that it printed: the object, what is done to it, and the words behind."""

    verb: Verb
    action: str
    words: tuple[str, ...]
    line: str
    more: tuple[str, ...] = ()
    """The lines that `tc show` printed below it, which it begins with a space."""


_TC = re.compile(r"(?:[\w./]*/)?tc")
_PROMPT = re.compile(r"^\s*(?:\[?\w+@[\w.-]+[^#$]*[#$]|\$)\s+(?=\S)")
_ROOT_PROMPT = re.compile(r"^\s*#\s*(?=(?:sudo\s+)?tc\s)")
_ASSIGNMENT = re.compile(r"(?:(?:export|local|readonly|declare)\s+)?([A-Za-z_]\w*)=(.*)", re.DOTALL)
_PRINTED = re.compile(
    r"(?:(?:deleted|added|replaced)\s+)?(?:qdisc\s+\w+\s+[0-9a-f]*:(?:\s|$)|class\s+\w+\s+[0-9a-f]*:[0-9a-f]+(?:\s|$)"
    r"|filter\s+(?:dev\s+\S+\s+)?(?:parent|protocol|root|block)\s)"
)
_COMMAND = re.compile(r"(?:qdisc|class|filter)\s+(?:add|replace|change|link|del|delete|show|list|ls)\b")
_USE = re.compile(r"\$(?:\{(\w+)(?::?-([^}]*))?\}|(\w+))")


def is_pasted(text: str) -> bool:
    """Whether text has a command of `tc qdisc`, or a line that it printed, beyond our own language."""
    lines = [line.strip() for line in _without_prompts(text).splitlines()]
    if any(re.match(r"(?:deleted |added |replaced )?qdisc\s", line) or _is_tc_line(line) for line in lines):
        return True
    # Classes and filters without their discipline; our own language begins with it.
    first = next((line for line in lines if line and not line.startswith("#")), "")
    if first.startswith("class ") or any(each.match(first) for each in (_PRINTED, _ANY_TC)):
        return True
    # A command of another program has a remedy there, and none among the disciplines.
    words = first.removeprefix("sudo ").split()
    return len(words) > 1 and words[0].rpartition("/")[2] in FOREIGN


_TC_LINE = re.compile(
    r"(?:^|[\s;&|(])(?:[^\s'\"]*/)?(?:tc|\$\{?TC\}?)\s+(?:-\S+\s+)*(?:(?:q|qd|qdi|qdis|qdisc)\s+[a-z]|-b\w*(?:\s|$))"
)
_ANY_TC = re.compile(r"(?:sudo\s+)?(?:\S*/)?(?:tc|\$\{?TC\}?)\s")


def _is_tc_line(line: str) -> bool:
    return _TC_LINE.search(line) is not None and not line.startswith("#")


def assigned(text: str) -> set[str]:
    """The names of the variables that a script gives values."""
    return {found[1] for line in re.split(r"[\n;]", text) if (found := _ASSIGNMENT.fullmatch(line.strip())) is not None}


def commands(text: str) -> list[Command]:
    """The commands that text contains, with their variables replaced."""
    variables: dict[str, str] = {}
    found: list[Command] = []
    for raw in _lines(_without_prompts(text)):
        # What `tc show` prints below a line begins with a space, unless the space was lost on the way.
        if found and found[-1].action == PRINTED and _is_below(raw):
            last = found[-1]
            found[-1] = Command(last.verb, last.action, last.words, last.line, (*last.more, raw.strip()))
            continue
        for line in _simple(raw):
            found.extend(_command(line, variables))
    return found


def _without_prompts(text: str) -> str:
    lines = [_PROMPT.sub("", line) for line in text.splitlines()]
    meant = [line for line in lines if line.strip() and not line.strip().startswith("#")]
    if not meant:
        lines = [_ROOT_PROMPT.sub("", line) for line in lines]
    return "\n".join(lines)


def _lines(text: str) -> Iterator[str]:
    end = ""
    for line in text.replace("\\\n", " ").splitlines():
        opened = _HERE.search(line)
        if end and line.strip() == end:
            end = ""
        elif opened is not None and _BATCH.match(line.strip()):
            # The lines below it are commands like all others.
            end = opened[1]
        elif line.strip():
            yield line


_HERE = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?\s*$")
_BATCH = re.compile(r"(?:sudo\s+)?(?:\S*/)?tc\s+(?:-\w+\s+)*-b\w*(?:\s|$)")


_BELOW = re.compile(
    r"(?:Sent \d+ bytes|backlog \d|rate \d\S* \d+pps|lended:|tokens:"
    r"|(?:\S+ -?\d\S* )*(?:linklayer|overhead|mpu|mtu|tsize) \S+$)"
)


def _is_below(raw: str) -> bool:
    line = raw.strip()
    if line.startswith("#") or _PRINTED.match(line) or _COMMAND.match(line) or _is_tc_line(line):
        return False
    return raw[:1].isspace() or _BELOW.match(line) is not None


def _simple(raw: str) -> Iterator[str]:
    """The commands of a line: without a comment, split at `;`, `&&` and `||`; what follows `||` is for failures."""
    line = re.sub(r"(?:^|\s)#.*", "", raw).strip()
    for part in re.split(r";|&&", line):
        command, _, _ = part.partition("||")
        if command.strip():
            yield command.strip()


def _command(line: str, variables: dict[str, str]) -> Iterator[Command]:
    assignment = _ASSIGNMENT.fullmatch(line)
    if assignment is not None and not _has_words_behind(assignment[2]):
        variables[assignment[1]] = _unquoted(_replaced(assignment[2], variables, line))
        return
    if _PRINTED.match(line):
        yield _printed(line)
        return
    first = line.split(maxsplit=1)[0]
    if first in SHELL:
        raise WordError(f"`{shown(line)}` is a part of a program for the shell", SHELL[first])
    # A child may follow a bar: that is our language and no pipe.
    own, bar, below = _replaced(line, variables, line).partition("|")
    words = _split(own, line)
    words = _carried(words[1:] if words[:1] in (["sudo"], ["doas"]) and len(words) > 1 else words)
    if not words:
        return
    if words[0] in VERBS or _TC.fullmatch(words[0]):
        yield from _of_tc(words, f"{bar}{below}" if bar else "", line)
    else:
        _foreign(words, line)


def _carried(words: list[str]) -> list[str]:
    """The command of `tc` in one that runs it elsewhere: `ip netns exec NAME tc …`."""
    place = next((place for place, word in enumerate(words) if _TC.fullmatch(word)), 0)
    carried = place > 0 and (words[0] in CARRIERS or words[:2] in (["ip", "netns"], ["ip", "-n"], ["ip", "-netns"]))
    return words[place:] if carried else words


def _has_words_behind(value: str) -> bool:
    """Whether an assignment is only for the command behind it: `LC_ALL=C tc qdisc show`."""
    return re.match(r"[^\s'\"`$]*\s+\S", value) is not None


def _printed(line: str) -> Command:
    words = [word for word in line.split() if not re.fullmatch(r"\[[0-9a-f]{8}\]", word)]
    while words[0] in ("deleted", "added", "replaced"):
        words.pop(0)
    return Command(_verb(words[0]), PRINTED, tuple(words[1:]), line)


def _verb(word: str) -> Verb:
    return next(verb for verb in VERBS if verb == word)


def _of_tc(words: list[str], below: str, line: str) -> Iterator[Command]:
    whole = _TC.fullmatch(words[0]) is not None
    if whole:
        words = words[1:]
        while words and words[0].startswith("-"):
            if words[0].startswith("-b"):
                raise WordError(f"`{shown(line)}` reads another file", "paste the lines of that file in its place")
            words = words[2:] if words[0] in ("-n", "-netns", "-cf", "-conf") else words[1:]
    words = _without_redirections(words)
    verb = next((verb for verb in VERBS if words and verb.startswith(words[0])), None)
    if verb is None:
        what = f"`{shown(line)}` is not a command of `tc` about a qdisc, class or filter"
        raise WordError(what, "remove it: only these are read")
    # `tc` takes the beginning of a word: `tc q a dev eth0`.
    action = next((each for each in _ACTIONS if whole and each.startswith(words[1])), words[1]) if words[1:] else "show"
    if action in _SHOWS:
        return
    if action not in CHANGES:
        # Our own line: `class 10 rate 5mbit | fq_codel`, `filter flow upload flowid 10`.
        yield Command(verb, "own", (*words[1:], *below.split()), line)
        return
    yield Command(verb, action, (*words[2:], *below.split()), line)


def _without_redirections(words: Sequence[str]) -> list[str]:
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        redirection = re.fullmatch(r"(?:\d|&)?>{1,2}(.*)", word)
        if redirection is None:
            kept.append(word)
        elif not redirection[1]:
            next(rest, None)
    return [word for word in kept if word != BACKGROUND]


def _split(text: str, line: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        message = f"`{shown(line)}` cannot be read: {str(error).lower()}"
        raise WordError(message, "close the quotes on the same line") from None


def _unquoted(value: str) -> str:
    words = _split(value, value)
    return " ".join(words)


def _replaced(text: str, variables: dict[str, str], line: str) -> str:
    if "$(" in text or "$[" in text or "`" in text:
        hint = "write the result: nothing of a script is executed"
        raise WordError(f"`{shown(line)}` needs the shell to compute a value", hint)

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[3]
        if name in variables:
            return variables[name]
        if match[2] is not None:
            return str(match[2])
        if name == "TC":
            return "tc"
        where = "before it" if not name.isdigit() else "in its place: a script has no arguments here"
        hint = f"write {name}=VALUE on a line {where}" if not name.isdigit() else f"write the value {where}"
        raise WordError(f"`{shown(line)}` uses `${name}`, which has no value", hint)

    return _USE.sub(value, text)


def _foreign(words: Sequence[str], line: str) -> None:
    """Refuses a command that is not of `tc`, unless it changes nothing here."""
    if words[0] in IGNORED:
        return
    if words[0] in PROMPTS:
        raise WordError(f"`{shown(line)}` says that a command failed", "remove it, and the command that failed")
    if words[:2] == ["ip", "link"] and words[-1] == "up" and not any(word.startswith("ifb") for word in words):
        return
    command = words[0].rpartition("/")[2]
    remedies = FOREIGN.get(command)
    if remedies is not None:
        hint = next((hint for keys, hint in remedies.items() if _has(words, keys.split())), None)
        raise WordError(f"`{shown(line)}` is not a command of `tc`", hint or remedies[""])
    raise WordError(
        f"`{shown(line)}` is not a command of `tc`",
        "remove it, if no packet meets it; else write what it does in keys of the experiment",
    )


def _has(words: Sequence[str], beginnings: Sequence[str]) -> bool:
    return any(word.startswith(beginning) for word in words for beginning in beginnings)
