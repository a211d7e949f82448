"""A shell on a host of a guest. Its terminal is the second console of the kernel, which reads one pipe and writes
another; a command without a terminal has files.
"""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

from tailback.backends.linux import process
from tailback.backends.linux import shell as linux
from tailback.backends.uml import instance
from tailback.backends.uml.own_time import cpu_s_of


def run(machine: instance.Machine, order: instance.Order, wanted: linux.Wanted) -> int:
    """Boots an instance and returns the status of its shell; raises `RunFailed`."""
    with process.run_folder("tailback-uml-") as folder:
        linux.write_input(wanted, folder)
        reading, writing = os.pipe()
        try:
            order = replace(order, console=[f"con1=fd:0,fd:{writing}"]) if wanted.terminal else order
            instance.write_inputs(folder, machine, order)
            with machine.processors.one() as processor, instance.air_of(folder, machine, processor, order):
                status = _in_guest(folder, instance.command_of(machine, processor, order), wanted, (reading, writing))
        finally:
            os.close(reading)
        if status is None:
            return linux.LEFT
        return linux.status_in(folder, "in the guest", lambda: instance.ending(folder, status))


def _in_guest(folder: Path, command: process.Command, wanted: linux.Wanted, pipe: tuple[int, int]) -> int | None:
    """How the guest ended; `None` if the user has left it."""
    reading, writing = pipe
    gate = linux.Gate(folder, wanted.speed)
    running = linux.start(command, folder, subprocess.PIPE if wanted.terminal else subprocess.DEVNULL, [writing])
    os.close(writing)
    try:
        if wanted.terminal and running.stdin is not None:
            gate.process, gate.had_s = running.pid, lambda: cpu_s_of(running.pid)
            ends = (running.stdin.fileno(), reading)
            if not linux.converse(running, ends, lambda active: gate.keep(active=active)):
                return None
        else:
            linux.follow(running, folder)
    finally:
        process.end(running)
    return running.returncode
