"""`drr`: deficit round robin over classes; unclassified packets are dropped.           [linux-6.12 sch_drr.c]"""

from tailback.qdiscs.discipline import Discipline, InKernel, Shown, nothing

ROW = Discipline(
    "drr",
    shown=Shown(nothing),
    kernel=InKernel(),
    alone="drr | pfifo",
    takes="packets of filters",
    queue="none",
)
