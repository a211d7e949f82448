"""What input of others may cost: the sizes of files that are read, the work and the sizes of code that is evaluated."""

from tailback.limits.files import NotTaken, read_bounded, read_regular
from tailback.limits.reckoning import WEIGHT_MAX, WORK_MAX, Allowance, NotReckoned

__all__ = ["WEIGHT_MAX", "WORK_MAX", "Allowance", "NotReckoned", "NotTaken", "read_bounded", "read_regular"]
