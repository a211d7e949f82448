"""The commands, a file each: options, one call to the rooms below, what is printed. None of them decides anything."""
