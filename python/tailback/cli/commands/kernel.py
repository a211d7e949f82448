"""`tailback kernel`: the kernels that `--backend uml` runs."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from tailback.cli.groups import App, Listed
from tailback.cli.options import InForm, grouped

if TYPE_CHECKING:
    from tailback.kernel import Kernel, Recipe
    from tailback.kernel.source import Source

DIGITS = 8
"""Of a digest, which name a kernel."""

USUAL = "6.12"
"""The release of the kernel `stock`."""

app = App(cls=Listed, help="Build and list the kernels that `--backend uml` runs.", no_args_is_help=True)


class Part(StrEnum):
    """What `remove` removes."""

    ALL = "all"
    OBJECTS = "objects"


class Which(Struct, frozen=True):
    """The kernel that is built, or whose headers are."""

    version: Annotated[
        str, typer.Option(metavar="VERSION", help="Debian's linux-source of this version, downloaded if absent.")
    ] = USUAL
    source: Annotated[Path | None, typer.Option(metavar="DIR", help="Your own kernel tree.", show_default=False)] = None
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the kernel.", show_default="stock, or that of DIR, or the features"),
    ] = None
    mirror: Annotated[
        str | None,
        typer.Option(metavar="URI", help="Of Debian's archive.", show_default="that of this machine's apt"),
    ] = None
    features: Annotated[
        list[str] | None,
        typer.Option(
            "--with", metavar="FEATURE", help="Also `wifi`, `ipv6`, `mptcp`, `programs` or `l4s`.", show_default=False
        ),
    ] = None

    def recipe(self) -> "Recipe":
        """Where its source is, and its name."""
        from tailback import kernel
        from tailback.cli import show

        if self.source is None:
            origin: Source = kernel.package(self.version, show.remark, self.mirror)
            usual = kernel.STOCK if self.version == USUAL else f"linux-{self.version}"
        else:
            origin, usual = kernel.tree(self.source), self.source.resolve().name
        features = tuple(sorted(set(self.features or ())))
        named = "-".join(features if usual == kernel.STOCK and features else (usual, *features))
        return kernel.Recipe(origin, self.name or named, features)


class OnlyTable(Struct, frozen=True):
    """How the kernels are listed."""

    table: InForm = None


@app.command()
@grouped
def build(which: Which) -> None:
    """Build a kernel for virtual time (about four minutes on two cores). A kernel that exists is not built again."""
    from tailback import kernel
    from tailback.cli import show

    built = kernel.build(which.recipe(), show.remark)
    kernel.build_agent()
    show.paths([built.folder])


@app.command()
@grouped
def headers(which: Which) -> None:
    """Prepare the headers of a kernel, with which the simulator compiles modules (about a minute)."""
    from tailback import kernel
    from tailback.cli import show

    show.paths([kernel.prepare(which.recipe(), show.remark).folder])


@app.command("list")
@grouped
def list_kernels(_printed: OnlyTable) -> None:
    """List the existing kernels, the newest first, and what they take on the disk."""
    from tailback import kernel
    from tailback.cli import show

    newest: dict[str, str] = {}
    for built in kernel.kernels():
        newest.setdefault(built.manifest.name, built.manifest.digest)
    show.names([(built.manifest.name, _line(built, newest[built.manifest.name])) for built in kernel.kernels()])


def _line(built: "Kernel", newest: str) -> str:
    from tailback.kernel import kept_tree

    about = built.manifest
    tree = kept_tree.disk_bytes(about.name)
    disk = f", {tree / 1e9:.1f} GB of objects" if tree else ""
    older = "" if about.digest == newest else f", older than the one of this name: uml:{about.digest[:DIGITS]}"
    return f"Linux {about.version}, {about.source}, {about.digest}, built {about.built}{disk}{older}"


@app.command("remove")
def remove_kernel(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `tailback kernel list` has it.")],
    only: Annotated[
        Part, typer.Option(help="`objects`: the tree of objects alone; the next build of it starts anew.")
    ] = Part.ALL,
) -> None:
    """Remove a kernel of this name: its program, headers, and tree of objects."""
    from tailback import kernel
    from tailback.cli import show

    show.paths(kernel.remove(name, only.value))
