"""Limits for untrusted input: sizes of files, and time and memory of evaluated code."""

from tailback.limits.arithmetic import WEIGHT_MAX, WORK_MAX, Allowance, OperationRefused
from tailback.limits.files import Damaged, FileRefused, Stream, open_regular, open_unpacked, read_bounded, read_regular

__all__ = [
    "WEIGHT_MAX",
    "WORK_MAX",
    "Allowance",
    "Damaged",
    "FileRefused",
    "OperationRefused",
    "Stream",
    "open_regular",
    "open_unpacked",
    "read_bounded",
    "read_regular",
]  # fmt: skip
