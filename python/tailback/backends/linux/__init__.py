"""What the backends on a real kernel share: the agent's job, its process, its tables, and checks of scenarios."""
