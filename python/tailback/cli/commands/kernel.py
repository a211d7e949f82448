"""`tailback kernel`: the kernels that `--backend uml` runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from tailback.cli.groups import App, Listed
from tailback.cli.options import InForm, grouped

if TYPE_CHECKING:
    from tailback.kernel import Recipe
    from tailback.kernel.cache import Manifest

app = App(cls=Listed, help="Build and list the kernels that `--backend uml` runs.", no_args_is_help=True)


class Which(Struct, frozen=True):
    """The kernel that is built, or whose headers are."""

    version: Annotated[str, typer.Option(metavar="VERSION", help="Debian's linux-source of this version.")] = "6.12"
    source: Annotated[Path | None, typer.Option(metavar="DIR", help="Your own kernel tree.", show_default=False)] = None
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the kernel.", show_default="stock, or that of DIR, or the features"),
    ] = None
    features: Annotated[
        list[str] | None, typer.Option("--with", metavar="FEATURE", help="Also `wifi` or `ipv6`.", show_default=False)
    ] = None

    def recipe(self) -> "Recipe":
        """Where its source is, and its name."""
        from tailback import kernel

        origin = kernel.package(self.version) if self.source is None else kernel.tree(self.source)
        features = tuple(sorted(set(self.features or ())))
        usual = kernel.STOCK if self.source is None else self.source.resolve().name
        return kernel.Recipe(origin, self.name or "-".join(features) or usual, features)


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
    """List the existing kernels, the newest first."""
    from tailback import kernel
    from tailback.cli import show

    show.names([(built.manifest.name, _line(built.manifest)) for built in kernel.kernels()])


def _line(manifest: "Manifest") -> str:
    return f"Linux {manifest.version}, {manifest.source}, {manifest.digest}, built {manifest.built}"
