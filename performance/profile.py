"""Collects the profiles by which the extension is optimised (scripts/profiled.sh, docs/performance.md): `make profile`.

    python -m performance.profile            # both
    python -m performance.profile fast       # that of the extension that `make` builds
    python -m performance.profile wheel      # that of the extension that `make wheel` builds

A build that counts how often each block runs does every run of `performance.unchanged`, one after the other, so that
the same sources give the same profile. There is a profile for each build: the compiler's names of functions have a
digest of the settings of the build in them. The files keep the functions of which something ran often; the others would
be most of the file and change nothing that we could measure.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "performance" / "profiles"
COMPILER = FOLDER / "compiler.txt"
"""What `rustc -vV` says of the compiler whose functions the profiles name."""
LEAST = 10_000
"""A function is kept if one of its blocks ran this often. All runs together pass some 10¹⁰ blocks."""


def output(*words: str | Path) -> str:
    """What a program prints."""
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def compiler() -> str:
    """The compiler of this clone, its host among what it says."""
    return output("rustc", "-vV")


def host() -> str:
    """The machine that the compiler runs on, as cargo calls it."""
    found = re.search(r"^host: (.*)$", compiler(), re.MULTILINE)
    assert found
    return found[1]


def merger() -> Path:
    """The program of the compiler's own LLVM that reads the counts: another version may not know their format."""
    program = Path(output("rustc", "--print", "target-libdir").strip()).parent / "bin" / "llvm-profdata"
    if not program.exists():
        sys.exit(f"{program} is missing: rustup component add llvm-tools")
    return program


def build(words: Sequence[str], folder: Path) -> None:
    """Builds the extension with counters below `folder`."""
    # What a build script counts while it runs is in the folder, too, and nobody reads it.
    flags = f"-Cprofile-generate={folder / 'builds'}"
    environment = {**os.environ, "CARGO_ENCODED_RUSTFLAGS": flags, "CARGO_TARGET_DIR": str(folder)}
    environment.setdefault("PYO3_PYTHON", sys.executable)
    command = ["cargo", "build", "--quiet", "--locked", "--package", "tailback-python", *words]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def train(extension: Path, counts: Path) -> None:
    """Does the runs with this extension; the process writes what it has counted when it ends."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "tailback"
        shutil.copytree(
            ROOT / "python" / "tailback", package, ignore=shutil.ignore_patterns("_core.*.so", "__pycache__")
        )
        shutil.copy(extension, package / "_core.abi3.so")
        words = ["-m", "performance.unchanged", "--jobs", "1", "--write", str(Path(folder) / "digests.json")]
        environment = {**os.environ, "PYTHONPATH": folder, "LLVM_PROFILE_FILE": str(counts)}
        subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, check=True)


def kept(text: str, least: int) -> Iterator[str]:
    """The head of a profile in LLVM's notation, and of its functions those of which a block ran `least` times."""
    head, functions = text.split(":ir\n", 1)
    yield f"{head}:ir\n"
    for function in functions.strip().split("\n\n"):
        # The name, a digest of its blocks, their number, and how often each ran.
        values = [line for line in function.splitlines() if not line.startswith("#")]
        if max(map(int, values[3 : 3 + int(values[2])])) >= least:
            yield f"{function}\n\n"


def collect(name: str, words: Sequence[str], merge: Path) -> None:
    """Writes the profile of one build."""
    folder = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").absolute() / f"profile-{name}"
    build(words, folder)
    (extension,) = (
        file
        for ending in ("so", "dylib")
        for file in folder.glob(f"**/lib_core.{ending}")
        if file.parent.name != "deps"
    )
    with tempfile.TemporaryDirectory() as scratch:
        counts, text = Path(scratch) / "counts.profraw", Path(scratch) / "profile.txt"
        train(extension, counts)
        subprocess.run([merge, "merge", "--text", "--sparse", "--output", text, counts], check=True)
        text.write_text("".join(kept(text.read_text(), LEAST)))
        file = FOLDER / f"{name}.profdata"
        subprocess.run([merge, "merge", "--output", file, text], check=True)
    print(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Collects what is asked for."""
    builds = {"fast": ["--profile", "fast"], "wheel": ["--release", "--target", host()]}
    words = argparse.ArgumentParser(prog="python -m performance.profile", description=__doc__)
    words.add_argument("name", nargs="*", choices=[*builds, []], help="the build; without it all")
    asked = words.parse_args().name or list(builds)
    merge = merger()
    if set(asked) != builds.keys() and COMPILER.exists() and compiler() != COMPILER.read_text():
        sys.exit("the profiles are of another compiler: collect them together")
    for name in asked:
        collect(name, builds[name], merge)
    COMPILER.write_text(compiler())


if __name__ == "__main__":
    main()
