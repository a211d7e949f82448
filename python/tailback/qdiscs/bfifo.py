"""`bfifo`: one FIFO, limited in bytes.                                                [iproute2 q_fifo.c]"""

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Shown

ROW = Discipline(
    "bfifo",
    shown=Shown(forms.limit, units={"limit": "bytes"}),
    kernel=InKernel(comes="with every kernel"),
    queue="one fifo",
)
