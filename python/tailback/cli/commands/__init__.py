"""The commands, one file each: options, one call to a package below, and the output. They have no logic of their
own.
"""
