"""What the backends on a real kernel have in common: the job of the agent, its process, its tables, their refusals."""
