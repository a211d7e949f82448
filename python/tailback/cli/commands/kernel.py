"""`tailback kernel`: the kernels that `--backend uml` runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailback.cli.groups import Listed

if TYPE_CHECKING:
    from tailback.kernel.cache import Manifest

app = typer.Typer(cls=Listed, help="Build and list the kernels that `--backend uml` runs.", no_args_is_help=True)


@app.command()
def build(
    version: Annotated[str, typer.Option(metavar="VERSION", help="Debian's linux-source of this version.")] = "6.12",
    source: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Your own kernel tree.", show_default=False)
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the kernel.", show_default="stock, or that of DIR")
    ] = None,
) -> None:
    """Build a kernel for virtual time (about two minutes). A kernel that exists is not built again."""
    from tailback import kernel
    from tailback.cli import show

    origin = kernel.package(version) if source is None else kernel.tree(source)
    called = name or (kernel.STOCK if source is None else source.resolve().name)
    built = kernel.build(kernel.Recipe(origin, called), show.remark)
    show.remark("building the agent")
    kernel.build_agent()
    show.paths([built.folder])


@app.command()
def headers(
    version: Annotated[str, typer.Option(metavar="VERSION", help="Debian's linux-source of this version.")] = "6.12",
    source: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Your own kernel tree.", show_default=False)
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the kernel.", show_default="stock, or that of DIR")
    ] = None,
) -> None:
    """Prepare the headers of a kernel, with which the simulator compiles modules (about a minute)."""
    from tailback import kernel
    from tailback.cli import show

    origin = kernel.package(version) if source is None else kernel.tree(source)
    called = name or (kernel.STOCK if source is None else source.resolve().name)
    show.paths([kernel.prepare(kernel.Recipe(origin, called), show.remark).folder])


@app.command("list")
def list_kernels() -> None:
    """List the existing kernels, the newest first."""
    from tailback import kernel
    from tailback.cli import show

    show.names([(built.manifest.name, _line(built.manifest)) for built in kernel.kernels()])


def _line(manifest: "Manifest") -> str:
    return f"Linux {manifest.version}, {manifest.source}, {manifest.digest}, built {manifest.built}"
