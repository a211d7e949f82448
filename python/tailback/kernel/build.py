"""Builds a user-mode kernel from its source, our patches (`kernel/patches`) and our configuration (`kernel/config`),
with the kernel's default optimisation.

The digest of a build covers all its inputs; an existing build is taken from the cache, and the objects of the last one
of a name are kept (`kept_tree.py`). The build information in the kernel's banner is fixed, because it seeds the random
number generator. The headers are kept too (`headers.py`): modules of the user are compiled with them. They can be
prepared alone.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailback.kernel import cache, checkout, headers, kept_tree
from tailback.kernel.errors import BuildFailed, KernelMissing
from tailback.kernel.files import text_of
from tailback.kernel.source import Source

TOOLS: Mapping[str, str] = {
    "make": "make",
    "gcc": "gcc",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "patch": "patch",
    "tar": "tar",
    "xz": "xz-utils",
    "strip": "binutils",
    "ip": "iproute2",
    "tc": "iproute2",
}
"""Required programs, with their Debian packages."""

HEADERS: Mapping[str, str] = {"libelf.h": "libelf-dev", "openssl/opensslv.h": "libssl-dev"}

ESSENTIAL = (
    "UML_TIME_TRAVEL_SUPPORT", "HIGH_RES_TIMERS", "HOSTFS", "NET_NS", "VETH", "IFB", "NET_SCH_HTB", "NET_SCH_NETEM",
    "NET_ACT_MIRRED", "NET_CLS_MATCHALL",
)  # fmt: skip
"""Required symbols; other disciplines and controls may be absent from an older tree."""

BUILDER = {
    "KBUILD_BUILD_USER": "tailback",
    "KBUILD_BUILD_HOST": "tailback",
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_VERSION": "1",
    "LC_ALL": "C",
    "ARCH": "um",
}

MAX_LINES = 12
"""Maximum number of lines shown of a failed build."""

WIFI = "wifi"
"""The feature that has our driver."""

DRIVER = "tailback"
"""The folder of our driver among those of wireless devices."""

WIRELESS = "drivers/net/wireless"

DRIVER_SINCE = (6, 12)
"""The first version for which it is written: mac80211's interface to drivers changes from one to the next."""

SPAN = re.compile(r"^(Since|Until): (\d+)\.(\d+)$", re.MULTILINE)
"""In the header of a patch: the first version that it is for, and the first that does without it."""

WITH = re.compile(r"^With: (\w+)$", re.MULTILINE)
"""In the header of a patch: the feature that it is for."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Recipe:
    """The source of a kernel, its name, and what it has beyond our configuration."""

    source: Source
    name: str
    features: tuple[str, ...] = ()
    """Ends of the names of files beside `kernel/config`."""


def build(recipe: Recipe, say: Say) -> cache.Kernel:
    """The kernel of `recipe`, from the cache if possible; `say` receives progress messages."""
    check_name(recipe.name)
    check_features(recipe)
    check_tools()
    ours = checkout.part("kernel")
    compiler = compiler_name()
    say(f"reading {recipe.source.description}")
    digest = digest_of(recipe, ours, compiler)
    found = cache.find_built(cache.home() / "kernels" / f"{digest}-{recipe.name}")
    if found is not None and headers.kept_of(digest, recipe.name) is not None:
        say("this kernel has already been built")
        return found
    started = time.monotonic()
    with kept_tree.held(recipe.name, say) as folder:
        version = _compiled_version(recipe, ours, folder, say)
        tree = folder / kept_tree.TREE
        headers.keep(headers.Origin(recipe.name, digest, version, recipe.source.description), tree)
        manifest = cache.Manifest(
            name=recipe.name,
            digest=digest,
            version=version,
            source=recipe.source.description,
            compiler=compiler,
            built=cache.utc_now(),
            build_s=round(time.monotonic() - started, 1),
        )
        return cache.keep(tree, manifest)


def remove(name: str, what: str) -> list[Path]:
    """Removes `all` that there is of the kernels of this name, or the `objects` alone; returns the removed folders.
    Raises `KernelMissing` if there is nothing.
    """
    kept = cache.kernels() if what == "all" else []
    found = [kernel.folder for kernel in kept if kernel.manifest.name == name]
    folders = [*found, *(cache.home() / "headers" / folder.name for folder in found), kept_tree.home() / name]
    there = [folder for folder in folders if folder.is_dir()]
    if not there:
        raise KernelMissing(f"there is no kernel `{name}`\n  hint: `tailback kernel list` has their names")
    for folder in there:
        shutil.rmtree(folder)
    return there


def prepare(recipe: Recipe, say: Say) -> headers.Headers:
    """The headers for `recipe`, from the cache if possible; `say` receives progress messages."""
    check_name(recipe.name)
    check_features(recipe)
    check_tools()
    ours = checkout.part("kernel")
    digest = digest_of(recipe, ours, compiler_name())
    found = headers.kept_of(digest, recipe.name)
    if found is not None:
        return found
    with kept_tree.held(recipe.name, say) as folder:
        version = configured(recipe, ours, folder, say)
        tree = folder / kept_tree.TREE
        say("preparing the headers")
        make(tree, "modules_prepare")
        return headers.keep(headers.Origin(recipe.name, digest, version, recipe.source.description), tree)


def check_name(name: str) -> None:
    """Checks a name, which becomes part of a folder's name and of `uml:NAME`."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", name):
        hint = "use letters, digits, `_`, `.`, `+` and `-`: --name mine"
        raise KernelMissing(f"`{name}` cannot be the name of a kernel\n  hint: {hint}")


def check_features(recipe: Recipe) -> None:
    """Raises `KernelMissing` for a feature that there is not."""
    for feature in recipe.features:
        if feature not in features():
            known = ", ".join(f"`{name}`" for name in features())
            raise KernelMissing(f"there is no feature `{feature}` of a kernel\n  hint: use one of {known}")


def check_tools() -> None:
    """Raises `KernelMissing` if programs for the build are missing, and lists all of them."""
    if platform.machine() != "x86_64" or platform.system() != "Linux":
        raise KernelMissing(
            f"user-mode Linux runs on Linux on x86_64; this is {platform.system()} on {platform.machine()}\n"
            "  hint: use the simulator, --backend sim"
        )
    programs = {package for program, package in TOOLS.items() if _program(program) is None}
    headers = {package for header, package in HEADERS.items() if not _has_header(header)}
    if programs or headers:
        names = " ".join(sorted(programs | headers))
        raise KernelMissing(f"missing: {names}\n  hint: apt-get install --no-install-recommends {names}")


def apply(patches: Sequence[Path], tree: Path, version: str) -> list[str]:
    """Applies our patches to `tree`; returns the names of the applied ones. Raises `BuildFailed` if one does not
    fit."""
    applied = []
    for patch in patches:
        if not is_needed(patch, version):
            continue
        command = ["patch", "--strip=1", "--batch", "--forward", "--no-backup-if-mismatch", f"--input={patch}"]
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
        if done.returncode:
            messages = "; ".join(line for line in done.stdout.splitlines() if "FAILED" in line or "an't find" in line)
            hint = f"this tree (Linux {version}) differs where the patch changes it: adapt `{patch}`"
            raise BuildFailed(f"`{patch.name}` does not fit: {messages or done.stdout.strip()[-300:]}\n  hint: {hint}")
        applied.append(patch.name)
    return applied


def add_driver(ours: Path, tree: Path, version: str) -> None:
    """Adds our driver for Wi-Fi (`kernel/driver`) to `tree`, unless mac80211 there is too old for it."""
    wireless = tree / WIRELESS
    if not _is_before(DRIVER_SINCE, version) or not (wireless / "Kconfig").is_file():
        return
    shutil.copytree(ours / "driver", wireless / DRIVER)
    with (wireless / "Kconfig").open("a", encoding="utf-8") as kconfig:
        kconfig.write(f'\nsource "drivers/net/wireless/{DRIVER}/Kconfig"\n')
    with (wireless / "Makefile").open("a", encoding="utf-8") as makefile:
        makefile.write(f"\nobj-$(CONFIG_TAILBACK_WIFI) += {DRIVER}/\n")


def _is_before(one: tuple[int, int], version: str) -> bool:
    """Whether a release is not newer than a version; true if that cannot be told."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return numbers is None or one <= (int(numbers[1]), int(numbers[2]))


def is_needed(patch: Path, version: str) -> bool:
    """Whether a patch is for this version, by its header."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    span = {word: (int(major), int(minor)) for word, major, minor in SPAN.findall(_header(patch))}
    if numbers is None:
        return "Until" not in span
    ours = (int(numbers[1]), int(numbers[2]))
    return span.get("Since", ours) <= ours and ("Until" not in span or ours < span["Until"])


def _header(patch: Path) -> str:
    return patch.read_text(encoding="utf-8").partition("\n\n")[0]


def check_patches(patches: Sequence[Path], version: str) -> None:
    """Raises `KernelMissing` if all patches of a feature are for other versions."""
    by_feature: dict[str, list[Path]] = {}
    for patch in patches:
        if feature := WITH.search(_header(patch)):
            by_feature.setdefault(feature[1], []).append(patch)
    for name, its in by_feature.items():
        if not any(is_needed(patch, version) for patch in its):
            spans = SPAN.findall("".join(_header(patch) for patch in its))
            since = "".join(f"Linux {major}.{minor} or newer" for _, major, minor in spans)
            raise KernelMissing(f"Linux {version} cannot have `{name}`\n  hint: it needs {since}: --version 7.3")


def _compiled_version(recipe: Recipe, ours: Path, folder: Path, say: Say) -> str:
    """Builds the kernel and the list of the symbols that modules may use; returns its version."""
    version = configured(recipe, ours, folder, say)
    jobs = len(os.sched_getaffinity(0))
    say(f"compiling on {counted(jobs)}")
    make(folder / kept_tree.TREE, f"-j{jobs}", "linux", "modules")
    return version


def counted(jobs: int) -> str:
    """`1 processor`, `2 processors`."""
    return f"{jobs} processor{'s' * (jobs != 1)}"


def configured(recipe: Recipe, ours: Path, folder: Path, say: Say) -> str:
    """Brings the tree in `folder` up to date with source, patches, driver and configuration; returns its version."""
    kept_tree.check_room(folder)
    say("unpacking")
    kept_tree.update(folder, recipe.source)
    tree = folder / kept_tree.TREE
    version = make(tree, "-s", "kernelversion").strip()
    wanted = patches_of(recipe, ours)
    check_patches(wanted, version)
    patches = [patch for patch in wanted if is_needed(patch, version)]
    say(f"Linux {version}: {', '.join(patch.name for patch in patches)}")

    def change(aside: Path) -> None:
        apply(patches, aside, version)
        if WIFI in recipe.features:
            add_driver(ours, aside, version)

    wireless = [f"{WIRELESS}/{name}" for name in ("Kconfig", "Makefile")]
    kept_tree.change(folder, [*kept_tree.files_of(patches), *wireless], change)
    whole = tree / "tailback.config"
    whole.write_text("".join(file.read_text(encoding="utf-8") for file in _configs(recipe, ours)), encoding="utf-8")
    make(tree, f"KCONFIG_ALLCONFIG={whole}", "allnoconfig")
    _check_config(tree, version)
    return version


def make(tree: Path, *words: str) -> str:
    """Runs `make` in `tree`; returns what it prints. Raises `BuildFailed`."""
    done = subprocess.run(
        ["make", *words], cwd=tree, env={**os.environ, **BUILDER}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        # Messages of make itself contain no cause.
        messages = [line for line in done.stderr.splitlines() if not line.startswith("make")][-MAX_LINES:]
        lines = "\n".join(f"  | {line}" for line in messages)
        full = "No space left on device" in done.stderr
        hint = kept_tree.ROOM_HINT if full else "does the tree build without the patches? make ARCH=um defconfig linux"
        raise BuildFailed(f"make {words[-1]} ended with {done.returncode}:\n{lines}\n  hint: {hint}")
    return done.stdout


def _check_config(tree: Path, version: str) -> None:
    lines = set(text_of(tree / ".config").splitlines())
    absent = [symbol for symbol in ESSENTIAL if f"CONFIG_{symbol}=y" not in lines]
    if absent:
        hint = "it needs Linux 5.10 or newer" if "UML_TIME_TRAVEL_SUPPORT" in absent else "look at kernel/config"
        raise BuildFailed(f"Linux {version} cannot have {', '.join(absent)}\n  hint: {hint}")


def patches_of(recipe: Recipe, ours: Path) -> list[Path]:
    """Ours, without those of features that are not wanted."""
    found = sorted((ours / "patches").glob("*.patch"))
    features = {patch: WITH.search(_header(patch)) for patch in found}
    return [patch for patch, feature in features.items() if feature is None or feature[1] in recipe.features]


def features() -> list[str]:
    """What a kernel may have beyond our configuration."""
    return sorted(file.name.removeprefix("config.") for file in checkout.part("kernel").glob("config.*"))


def _configs(recipe: Recipe, ours: Path) -> list[Path]:
    return [ours / "config", *(ours / f"config.{feature}" for feature in recipe.features)]


def _driver(ours: Path) -> list[Path]:
    return sorted(file for file in (ours / "driver").iterdir() if file.is_file())


def digest_of(recipe: Recipe, ours: Path, compiler: str) -> str:
    """Digest of all that a build depends on."""
    parts = [("source", recipe.source.digest().encode()), ("compiler", compiler.encode())]
    driver = _driver(ours) if WIFI in recipe.features else []
    files = [*_configs(recipe, ours), *patches_of(recipe, ours), *driver]
    parts += [(file.name, file.read_bytes()) for file in files]
    return checkout.digest(parts)[:16]


def compiler_name() -> str:
    """The name and version of the compiler."""
    done = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]


def _program(name: str) -> str | None:
    # The PATH of ordinary users often lacks the sbin folders.
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def _has_header(name: str) -> bool:
    done = subprocess.run(
        ["gcc", "-E", "-x", "c", "-"], input=f"#include <{name}>\n", capture_output=True, text=True, check=False
    ) if _program("gcc") else None  # fmt: skip
    return done is None or done.returncode == 0
