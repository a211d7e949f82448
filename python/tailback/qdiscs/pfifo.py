"""`pfifo`: one FIFO, limited in packets.                                              [iproute2 q_fifo.c]"""

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Shown
from tailback.tc.options import Grammar, Option

ROW = Discipline(
    "pfifo",
    shown=Shown(forms.limit, units={"limit": "packets"}),
    kernel=InKernel(comes="with every kernel"),
    grammar=Grammar(options={"limit": Option("number as a size")}),
    queue="one fifo",
)
