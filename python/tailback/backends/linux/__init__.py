"""Common parts of the backends with a real kernel: the agent's job, its process, its tables, checks of scenarios."""
