"""`tailback search`: finds an experiment in which something happens, and shrinks it."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from tailback.cli.options import File, Json, Set, backend_name, once, out_folder


class Sought(Struct, frozen=True):
    """What is searched for, and where."""

    find: Annotated[
        str, typer.Option(metavar="CONDITION", help='What is to happen: "bbr_bw > 3 * rate", "jain < 0.3".')
    ]
    over: Annotated[str, typer.Option(metavar="KEYS", help='The space: "rate=1mbit..100mbit, delay, cc=[reno, bbr]".')]
    for_: Annotated[str, typer.Option("--for", metavar="TIME", help="How long a condition over time has to hold.")] = (
        "0s"
    )
    sets: Set = None


class Effort(Struct, frozen=True):
    """How long the search goes on."""

    budget: Annotated[
        str, typer.Option(metavar="TIME", help="CPU time of the search; shrinking takes as much at most.")
    ] = "60s"
    evaluations: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="End after N runs.", show_default=False)
    ] = None
    seed: Annotated[int, typer.Option(min=1, help="The same seed finds the same.")] = 1
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY", help="Shrinking leaves this key: traffic[0].cc. May be repeated.", show_default=False
        ),
    ] = None


class Kept(Struct, frozen=True):
    """What becomes of a finding."""

    as_json: Json = False
    out: Annotated[Path | None, out_folder("The folder of the finding.", default="results/search/FILE")] = None
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Add the finding to this suite, which `tailback assess` replays.", show_default=False
        ),
    ] = None
    verify: Annotated[str | None, backend_name("Run the finding on this backend, too: uml.", name="--verify")] = None


def search(file: File, sought: Sought, effort: Effort, kept: Kept) -> None:
    """Search for a setting in which something happens, and shrink it to the smallest file that shows it."""
    from tailback import extras, scenario

    extras.need("cma")
    extras.need("matplotlib")
    from tailback import search as searching
    from tailback.cli import show
    from tailback.cli import sought as told
    from tailback.search import finding

    condition = searching.condition(sought.find, searching.seconds(sought.for_))
    wanted = searching.Wanted(
        scenario.file_of(file), condition, sought.over, once(sought.sets or ()),
        searching.seconds(effort.budget), effort.evaluations, effort.seed, effort.keep or (),
    )  # fmt: skip
    with told.progress() as watch:
        found = searching.search(wanted, watch)
    place = finding.keep(found, wanted, finding.Place(kept.out, kept.save, kept.verify))
    if kept.as_json:
        show.document(finding.document(found, wanted, place))
    else:
        told.result(found, wanted, place)
    raise typer.Exit(0 if found.text else 1)
