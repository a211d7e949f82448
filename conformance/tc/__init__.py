"""`tc`'s grammar beside ours: the same strings given to a real `tc` on a real kernel, and to `tailback.scenario`."""
