"""Every kind of experiment on the simulator and on a kernel, judged by the spread of both over their seeds."""
