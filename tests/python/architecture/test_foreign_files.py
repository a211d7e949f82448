"""Files that others made are read in one way: `tailback.limits` opens them, which never waits for a FIFO, asks for the
size first, and stops at a limit. Every other way to open a file is listed here with the reason why it may.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import tailback

PACKAGE = Path(tailback.__file__).parent

OPENS = frozenset(
    ("open", "read_text", "read_bytes", "fdopen", "fromfile", "loadtxt", "genfromtxt", "memmap", "memory_map", "mmap",
     "copyfile", "copy2", "copytree", "copy", "read_table", "read_schema", "read_metadata", "ParquetFile",
     "read_parquet", "read_csv", "read_feather", "read_pickle", "OSFile", "open_file", "open_stream",
     "GzipFile", "BZ2File", "ZipFile", "TarFile", "file_digest", "run_path", "safe_load")
)  # fmt: skip
"""Functions and methods that open a file, whatever they belong to. `copy` only of `shutil`."""

OURS = "the file is part of this package or clone"
GUEST = "our agent wrote it just now, into a temporary folder of ours"
LIMITED = "opens what it was asked to with limits, for all others"
KERNEL = "a file of /proc or /sys"
MADE = "this process wrote it just now"
BUILD = "a tree that this build made, in a temporary folder of ours"

ALLOWED: dict[str, str] = {
    "limits/files.py": LIMITED,
    "api.py:_opened": "calls the `open` of this module, which opens results",
    "backends/linux/captures.py:read": GUEST,
    "backends/linux/own_figures.py:_unpacked": GUEST,
    "backends/linux/process.py": GUEST,
    "backends/linux/shell.py": GUEST,
    "backends/linux/programs.py:executed": "a program that the run is to execute",
    "backends/linux/programs.py:fingerprint": "the same",
    "backends/linux/programs.py:left": GUEST,
    "backends/linux/programs.py:_connections": GUEST,
    "backends/linux/programs.py:_merged": GUEST,
    "backends/linux/qdisc_stats.py:_rows": GUEST,
    "backends/linux/tables.py": GUEST,
    "backends/module_process.py": MADE,
    "columns.py:read_csv": GUEST,
    "backends/modules.py": MADE,
    "backends/netns/__init__.py:_judge": GUEST,
    "backends/netns/__init__.py:_late_ns": GUEST,
    "backends/netns/__init__.py:fingerprint": OURS,
    "backends/netns/__init__.py:run": GUEST,
    "backends/netns/shell.py:run": GUEST,
    "backends/netns/emulation.py": KERNEL,
    "backends/netns/bpf.py": KERNEL,
    "backends/netns/modules.py:unloaded": f"{KERNEL}, and a module that we built",
    "backends/netns/modules.py:_refusal": KERNEL,
    "backends/ssh/connection.py:local_agent": OURS,
    "backends/ssh/run.py:_tables": GUEST,
    "backends/uml/__init__.py:fingerprint": OURS,
    "backends/uml/air.py": MADE,
    "backends/uml/air_process.py": "the process that started it wrote it just now",
    "backends/uml/instance.py:write_inputs": MADE,
    "backends/uml/instance.py:_console": GUEST,
    "backends/uml/console.py:look": GUEST,
    "backends/uml/lookout.py": KERNEL,
    "backends/uml/own_time.py:_state_and_cpu_s": KERNEL,
    "backends/uml/scripts.py:play": GUEST,
    "backends/uml/spinning.py": KERNEL,
    "backends/uml/state.py:_text": GUEST,
    "bundle/contents.py:_archive": "an archive that `tailback.limits` opened",
    "bundle/contents.py:_unpack": "writes the members of an archive into a temporary folder of ours",
    "bundle/writing.py": "writes",
    "cli/failures.py:_close_stdout": "/dev/null",
    "cli/glossary.py:field": OURS,
    "results/data_dictionary.py:tables": OURS,
    "fitting/memory.py": KERNEL,
    "cli/streams.py:_take_closed_numbers": "/dev/null in place of a closed stream",
    "cli/streams.py:_writable": "/dev/null in place of a closed stream",
    "cli/commands/lab.py": "the browser",
    "kernel/agent.py": OURS,
    "kernel/build.py": f"{OURS}, or of {BUILD}",
    "kernel/cache.py:keep": BUILD,
    "kernel/debian.py:_unpacked": MADE,
    "kernel/headers.py:keep": BUILD,
    "kernel/kept_tree.py": BUILD,
    "kernel/loadable.py:files": OURS,
    "kernel/loadable.py:built": BUILD,
    "kernel/module.py:compiled": OURS,
    "kernel/module.py:private_copy": MADE,
    "kernel/scratch.py:_opened": "a folder of ours, to lock it",
    "kernel/source.py:unpack": "copies regular files of the tree: shutil refuses others",
    "lab/pages.py:_file": OURS,
    "lab/saving.py:_filled": OURS,
    "lab/saving.py:part": OURS,
    "lab/simulator.py:content": f"{OURS}, or of {BUILD}",
    "lab/worker.py:main": "the pipes of this process",
    "papers/claims.py:load_paper": OURS,
    "papers/document.py": OURS,
    "papers/reproduction.py:variables_of": OURS,
    "papers/standing.py:on_a_kernel": OURS,
    "papers/standing.py:standing": OURS,
    "papers/testbed.py:load_testbed": OURS,
    "report/page.py:_uplot": OURS,
    "results/durable.py": "writes",
    "results/provenance.py:_digest": OURS,
    "results/store.py:_locked": "the results folder, to lock it",
    "starters/__init__.py:_write": OURS,
}
"""The functions that open files in another way (`FILE` or `FILE:FUNCTION`), with reasons."""


def used(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The functions of a module that open files, and how."""
    for outer in ast.walk(tree):
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
            for call in ast.walk(outer):
                if isinstance(call, ast.Call) and (how := opening(call.func)):
                    yield outer.name, how
    for statement in tree.body:
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for call in ast.walk(statement):
                if isinstance(call, ast.Call) and (how := opening(call.func)):
                    yield "", how


def opening(function: ast.expr) -> str | None:
    """The name of a function that opens a file."""
    if isinstance(function, ast.Name):
        return function.id if function.id in OPENS - {"copy"} else None
    if not isinstance(function, ast.Attribute) or function.attr not in OPENS:
        return None
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    return function.attr if function.attr != "copy" or owner == "shutil" else None


@cache
def found() -> dict[str, set[str]]:
    """How each function of the package opens files, by `FILE:FUNCTION`."""
    places: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for function, how in used(ast.parse(path.read_text())):
            places.setdefault(f"{path.relative_to(PACKAGE).as_posix()}:{function}", set()).add(how)
    return places


def allowed(place: str) -> bool:
    return place in ALLOWED or place.partition(":")[0] in ALLOWED


def test_every_file_that_others_made_is_opened_by_the_readers_with_limits() -> None:
    others = {place: sorted(how) for place, how in found().items() if not allowed(place)}
    assert not others, f"read them with `tailback.limits`, or list them with a reason: {others}"


def test_the_list_has_no_entry_that_opens_nothing() -> None:
    places = found()
    files = {place.partition(":")[0] for place in places}
    assert not [entry for entry in ALLOWED if entry not in places and entry not in files]


@pytest.mark.parametrize(
    "text",
    ["def f(p):\n return open(p)", "def f(p):\n return p.open('rb')", "def f(p):\n return p.read_text()",
     "class A:\n def f(self, p):\n  return pq.read_table(p)", "x = Path('a').read_bytes()", "import os\nos.open(p, 0)",
     "def f(p):\n shutil.copy(p, q)"],
)  # fmt: skip
def test_each_way_to_open_a_file_is_seen(text: str) -> None:
    assert list(used(ast.parse(text)))
