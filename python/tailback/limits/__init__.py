"""Limits for untrusted input: sizes of files, and time and memory of evaluated code."""

from tailback.limits import confined, trust
from tailback.limits.arithmetic import WEIGHT_MAX, WORK_MAX, Allowance, OperationRefused
from tailback.limits.expressions import Expressions
from tailback.limits.files import (
    CAPTURE_MAX,
    CELLS_MAX,
    CELLS_PER_BYTE,
    COLUMNS_MAX,
    DOCUMENT_MAX,
    TABLE_MAX,
    TEXT_MAX,
    Damaged,
    FileRefused,
    Stream,
    ends_of,
    is_file,
    is_folder,
    open_regular,
    open_unpacked,
    read_bounded,
    read_regular,
    seekable_regular,
)

__all__ = [
    "CAPTURE_MAX",
    "CELLS_MAX",
    "CELLS_PER_BYTE",
    "COLUMNS_MAX",
    "DOCUMENT_MAX",
    "TABLE_MAX",
    "TEXT_MAX",
    "WEIGHT_MAX",
    "WORK_MAX",
    "Allowance",
    "Damaged",
    "Expressions",
    "FileRefused",
    "OperationRefused",
    "Stream",
    "confined",
    "ends_of",
    "is_file",
    "is_folder",
    "open_regular",
    "open_unpacked",
    "read_bounded",
    "read_regular",
    "seekable_regular",
    "trust",
]  # fmt: skip
