"""Twins of real kernel runs: the simulator is given the same experiment and its tables are laid beside the kernel's."""
