"""`pfifo_fast`: three FIFOs by priority, the default discipline of a device.         [linux-6.12 sch_generic.c]"""

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Shown
from tailback.tc.errors import WordError
from tailback.tc.options import Grammar, Options, Table, Words


def _usual_priomap(words: Words, table: Table) -> Options:
    """Reads the bands that `tc show` prints; they cannot be changed."""
    found = [words.next() for _ in forms.DEFAULT_PRIOMAP if (words.peek() or "").isdigit()]
    if found != [str(band) for band in forms.DEFAULT_PRIOMAP]:
        raise WordError(f"`priomap` of `{table.kind}` cannot be changed", "use `prio`, which has a `priomap`")
    return {}


ROW = Discipline(
    "pfifo_fast",
    shown=Shown(forms.bands),
    kernel=InKernel(comes="with every kernel"),
    grammar=Grammar(
        forms={"bands": forms.three_bands, "priomap": _usual_priomap},
        keywords={
            "bands": "bands 3, as `tc` prints it",
            "priomap": "priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1, as `tc` prints it",
        },
    ),
    queue="fifos",
)
