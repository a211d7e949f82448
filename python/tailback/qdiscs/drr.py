"""`drr`: deficit round robin over classes; unclassified packets are dropped.           [linux-6.12 sch_drr.c]"""

from tailback.qdiscs.discipline import Discipline, InKernel, Shown, nothing

ROW = Discipline(
    "drr",
    shown=Shown(nothing),
    kernel=InKernel(),
    alone="drr | pfifo",
    tree=("drr; class 1 quantum 3000 | fq_codel; class 2 | fq_codel; filter from client flowid 1; filter all flowid 2"),
    takes="packets of filters",
    queue="none",
)
