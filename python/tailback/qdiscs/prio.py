"""`prio`: bands with strict priority.                                                 [iproute2 q_prio.c]"""

from collections.abc import Iterator

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Settings, Shown
from tailback.tc.options import Grammar
from tailback.tc.writing import Units, plain, without


def _words(options: Settings, units: Units) -> Iterator[str]:
    yield from plain(without(options, "priomap"), units)
    if "priomap" in options:
        yield from ("priomap", *map(str, forms.bands_of(options["priomap"])))


ROW = Discipline(
    "prio",
    shown=Shown(forms.bands),
    kernel=InKernel(),
    grammar=Grammar(forms={"priomap": forms.priomap}, printed={"multiqueue:": 1}),
    writer=_words,
    tree="prio; class 1 | pfifo limit 50; class 2 | fq_codel; filter flow upload flowid 2; filter all flowid 1",
    classes_by="bands",
    queue="none",
)
