"""Each version of Linux beside the simulator's stack of it, and the kernel beside itself."""
