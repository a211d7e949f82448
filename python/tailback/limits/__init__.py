"""Limits for untrusted input: sizes of files, and time and memory of evaluated code."""

from tailback.limits.files import Damaged, NotTaken, Stream, open_regular, open_unpacked, read_bounded, read_regular
from tailback.limits.reckoning import WEIGHT_MAX, WORK_MAX, Allowance, NotReckoned

__all__ = [
    "WEIGHT_MAX", "WORK_MAX", "Allowance", "Damaged", "NotReckoned", "NotTaken", "Stream", "open_regular",
    "open_unpacked", "read_bounded", "read_regular",
]  # fmt: skip
