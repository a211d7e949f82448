"""Files, modules, functions, types and keys that comments, docstrings and documents name exist.

A name is text between backticks that is not an ordinary word: it contains an underscore, a dot or `::`, or ends in
`()`. It must occur in the code or be a file of the repository; a name below `tailback` or `conformance` must occur in
the module that it names. Names of foreign things (the kernel, other programs) are listed here.
"""

import ast
import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from statements import statements

ROOT = Path(__file__).parents[3]

OF_THE_KERNEL = re.compile(r"(tcp|sk|TCP|CONFIG|snd|ts_recent)_\w+|net\.(inet|ipv4|ipv6|core)\.[\w.]+")
"""Functions, fields and options of Linux by their prefixes."""

OF_OTHERS = {
    "x.py", "distributed.comm.tls", "CA_EVENT_TLP_RECOVERY", "http_f", "http_l", "tests/voip.conf", "tcp_yeah.c",
    "N_dbps", "SND.WL1", "TIME_WAIT", "UINT_MAX", "W_max", "bic_origin_point", "mss_cache", "sndbuf_expand",
    "wifi_stats_HOST", "rcv_big_endseq", "rcv_toobig",
    "rcv_toobig_default", "rcv_wnd_shrink_allowed", "rcv_wnd_shrink_nomem",
    "flent/aggregators.py", "flent/resultset.py", "flent/util.py", "tests/tcp_nup.conf", "tests/wifi_stats.inc",
    "test_runner/config.rs", "kernel/net/sched/sch_htb.ko", "config.py", "defaults.sh", "set_sysctls.py",
    "sch_htb", "tcp_NAME.c", "tcp_prague.c", "tcp_cong.c", "tcp_vegas.c", "inet_connection_sock", "delivered_mstamp",
    "ecn_flags", "rx_opt", "icsk_ca_state", "ktime_get()", "int_sqrt", "WARN_ON", "CA_EVENT_ECN_IS_CE",
    "CA_EVENT_ECN_NO_CE", "SO_TXTIME", "UDP_SEGMENT", "bpf_ktime_get_ns", "bpf_get_prandom_u32",
}  # fmt: skip
"""Of the kernel, RFCs, packetdrill's scripts, Flent, TEACUP, proptest, the browser."""

OF_USERS = {
    "experiment.yaml", "first.yaml", "my.yaml", "testbed.yaml", "two.yaml", "x.pkt", "mine", "mine.py", "mine.yaml",
    "test_mine.py", "aimd.py", "tcp_mine.c", "regression.yaml", "random.yaml", "pairs.yaml",
}  # fmt: skip
OF_USERS |= {f"{page.stem}.yaml" for page in (ROOT / "docs" / "mistakes").glob("*.md")}
"""Files that somebody else has, in examples."""

MADE = ("controls/", "disciplines/", "drivers/", "reference/")
"""Pages of the site that are made when it is built."""

BUILT = {"cpu_late": "late", "cpu_running": "running", "cpu_softirq": "softirq", "cpu_stolen": "stolen",
         "cpu_waiting": "waiting"}  # fmt: skip
"""Keys that are put together from these."""

WITH_PROSE = (".rs", ".py", ".pyi", ".md", ".yaml", ".toml")

NAME = re.compile(r"[A-Za-z_]\w*((::|\.)[A-Za-z_]\w*)*(\(\))?")
FILE = re.compile(r"(?<![\w/.$<-])((?:[\w-]+/)*[\w-]+\.(?:py|rs|pkt|toml|yaml|md|sh))\b(?![/.(])")
FOLDERS = "conformance|crates|docs|experiments|fuzz|kernel|python|references|scripts|tests"
PLACE = re.compile(rf"(?<![\w/.$<-])((?:{FOLDERS})/[\w./-]*\w)")
MODULE = re.compile(r"\bpython -m ((?:tailback|conformance|campaigns)[\w.]*)")


STRING_OR_COMMENT = re.compile(
    r"""(?P<triple>\"\"\"|''')(?:\\[\s\S]|[\s\S])*?(?P=triple)|(?P<quote>["'])(?:\\[\s\S]|[^\n])*?(?P=quote)|#[^\n]*"""
)
"""Of a program in Python. In a string, `#` begins no comment."""


@functools.cache
def tracked() -> tuple[Path, ...]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [Path(line) for line in listed.splitlines()]
    return tuple(file for file in files if (ROOT / file).is_file() and file.parts[:2] != ("tests", "data"))


@functools.cache
def parts(file: Path) -> tuple[str, str]:
    """Prose and code of a file, each with a line for each of its lines."""
    text = (ROOT / file).read_text(encoding="utf-8")
    if file.suffix == ".md":
        return text, ""
    if file.suffix == ".rs":
        lines = [re.split(r"(?<![:\"])(?=//)", line, maxsplit=1) for line in text.splitlines()]
        return "\n".join(line[1] if len(line) > 1 else "" for line in lines), "\n".join(line[0] for line in lines)
    if file.suffix in (".py", ".pyi"):
        return _python(text)
    if file.suffix in (".yaml", ".toml"):
        lines = [re.split(r"(?:^|(?<=\s))(?=# )", line, maxsplit=1) for line in text.splitlines()]
        return "\n".join(line[1] if len(line) > 1 else "" for line in lines), "\n".join(line[0] for line in lines)
    return "", text


def _python(text: str) -> tuple[str, str]:
    prose, code = [""] * (text.count("\n") + 2), [*text.split("\n"), ""]
    for node in statements(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for line in range(node.lineno - 1, node.end_lineno or node.lineno):
                prose[line], code[line] = code[line] or prose[line], ""
    line, before = 0, 0
    for token in STRING_OR_COMMENT.finditer(text):
        if token[0].startswith("#"):
            line, before = line + text.count("\n", before, token.start()), token.start()
            prose[line], code[line] = token[0], code[line][: token.start() - (text.rfind("\n", 0, token.start()) + 1)]
    return "\n".join(prose), "\n".join(code)


@functools.cache
def ends() -> frozenset[str]:
    """The paths of all files, also without the folders at their beginning."""
    return frozenset("/".join(file.parts[start:]) for file in tracked() for start in range(len(file.parts)))


SOURCES = (".rs", ".py", ".pyi", ".md", ".toml", ".yaml", ".sh", ".j2", ".js", ".css", ".patch", ".txt", "")


@functools.cache
def known() -> frozenset[str]:
    """Every word of the code, and the names of files and folders."""
    words = {word for file in tracked() if file.suffix in SOURCES for word in re.findall(r"\w+", parts(file)[1])}
    return frozenset(words | {each.stem for file in tracked() for each in (file, *file.parents)})


def is_there(name: str) -> bool:
    """Whether the thing called `name` exists."""
    if name in OF_OTHERS or OF_THE_KERNEL.fullmatch(name):
        return True
    words = re.split(r"::|\.", name.removesuffix("()"))
    if words[0] in ("tailback", "conformance"):
        return is_in_module(words)
    return all(BUILT.get(word, word) in known() for word in words)


def is_in_module(words: list[str]) -> bool:
    """Whether the last words of `tailback.analysis.tolerances.judged` are in the module of the first."""
    place = ROOT / ("python" if words[0] == "tailback" else "")
    while words and (place / words[0]).is_dir():
        place, words = place / words[0], words[1:]
    if words and (place / f"{words[0]}.py").is_file():
        place, words = place / f"{words[0]}.py", words[1:]
    module = place if place.is_file() else place / "__init__.py"
    code = parts(module.relative_to(ROOT))[1] if module.is_file() else ""
    return all(re.search(rf"\b{word}\b", code) or word in ("_core",) for word in words)


def is_file(path: str, beside: Path) -> bool:
    """Whether such a file or folder exists: from the root, beside the file that names it, or as the end of a path."""
    if path in OF_OTHERS or path.startswith(MADE) or PurePosixPath(path).parts[0] in OF_USERS:
        return True
    if (ROOT / path).exists() or (ROOT / beside.parent / path).exists():
        return True
    # An experiment that comes with Tailback is named without its folder and its ending.
    if (ROOT / "experiments" / f"{path}.yaml").exists():
        return True
    # `tailback new` makes `lab.yaml` of lab.yaml.txt.
    if path in ends() or f"{path}.txt" in ends():
        return True
    # `crates/cc/src/NAME.rs`: a placeholder stands for any.
    return any(re.fullmatch(r"[A-Z]+", PurePosixPath(part).stem) for part in PurePosixPath(path).parts)


def named(line: str) -> Iterator[str]:
    """Names between backticks that are not ordinary words."""
    for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", line):
        if NAME.fullmatch(span) and not FILE.fullmatch(span) and re.search(r"_|::|\.|\(\)", span):
            yield span


def missing(file: Path) -> Iterator[str]:
    for number, line in enumerate(parts(file)[0].splitlines(), 1):
        names = [name for name in (*named(line), *MODULE.findall(line)) if not name.startswith("campaigns")]
        absent = [name for name in names if not is_there(name)]
        # Tests name files that they create, such as the toy of a recipe.
        places = set() if file.parts[0] == "tests" else {*FILE.findall(line), *PLACE.findall(line)}
        absent += [place for place in sorted(places) if not is_file(place, file)]
        yield from (f"{file}:{number}: `{name}`" for name in absent)


def test_every_name_in_comments_and_documents_exists() -> None:
    found = [lie for file in tracked() if file.suffix in WITH_PROSE for lie in missing(file)]
    hint = "name what there is; a thing of the kernel or of another program belongs into `OF_OTHERS` of this test"
    assert not found, "\n".join([*found, f"hint: {hint}"])


def test_a_name_that_does_not_exist_is_found() -> None:
    gone = "no_such" + "_function"
    line = f"see `{gone}` and `{gone}()`, `Sender::{gone}`, `a word`, `take_data`"
    assert [name for name in named(line) if not is_there(name)] == [gone, f"{gone}()", f"Sender::{gone}"]
    assert is_there("tailback.analysis.tolerances.judged")
    assert not is_there("tailback.analysis.tolerances.deviations")
    assert is_file("rack.rs", Path("crates/tcp/src/lib.rs"))
    assert not is_file("no-such" + "-file.rs", Path("crates/tcp/src/lib.rs"))
    assert not is_file("python/tailback/analysis/judge" + ".py", Path("README.md"))


def test_every_listed_third_party_part_is_mentioned_somewhere() -> None:
    prose = "\n".join(parts(file)[0] for file in tracked() if file.suffix in (".rs", ".py", ".pyi", ".md"))
    assert sorted(name for name in OF_OTHERS if name not in prose) == []
