"""`mq`: one discipline for each transmit queue of a device.                          [linux-6.12 sch_mq.c]"""

from tailback.qdiscs.discipline import Discipline, InKernel, Shown, nothing

ROW = Discipline(
    "mq",
    shown=Shown(nothing),
    kernel=InKernel(
        comes="with every kernel",
        no_device=(
            "a veth, which emulates the link, has one transmit queue",
            "remove `mq`: its child alone is equivalent",
        ),
        refused_by="Tailback",
        marks=None,
    ),
    tree="mq queues 2; class 1 | fq_codel; class 2 | pfifo limit 100",
    classes_by="queues",
    queue="none",
)
