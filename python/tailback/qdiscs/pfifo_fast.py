"""`pfifo_fast`: three FIFOs by priority, the default discipline of a device.         [linux-6.12 sch_generic.c]"""

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Shown

ROW = Discipline(
    "pfifo_fast",
    shown=Shown(forms.bands),
    kernel=InKernel(comes="with every kernel"),
    queue="fifos",
)
