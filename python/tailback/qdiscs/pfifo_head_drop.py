"""`pfifo_head_drop`: one FIFO that drops its oldest packet when it is full.         [iproute2 q_fifo.c]"""

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Shown
from tailback.tc.options import Grammar, Option

ROW = Discipline(
    "pfifo_head_drop",
    shown=Shown(forms.limit, units={"limit": "packets"}),
    # It is in sch_fifo.c, which every kernel with disciplines has. [linux-6.12 net/sched/Makefile]
    kernel=InKernel(comes="with every kernel"),
    grammar=Grammar(options={"limit": Option("number as a size")}),
    queue="one fifo",
)
