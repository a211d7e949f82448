"""How many threads numpy's linear algebra gets."""

import os


def use_one_thread() -> None:
    """Keeps OpenBLAS from starting a thread per core when numpy is imported, which takes as long as to summarise ten
    runs. Tailback multiplies no large matrices; runs have threads of their own. A value that the user sets remains.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
