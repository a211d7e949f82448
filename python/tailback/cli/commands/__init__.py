"""The commands, one file each: options, a call to a package below, and the output. They contain no logic."""
