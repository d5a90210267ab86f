"""Which GPUs this process may use, by the names that CUDA knows them by. Nothing here imports a framework.

A job of Slurm, a container or a user names them in CUDA_VISIBLE_DEVICES: by number, or by the name of a GPU (`GPU-…`) or of
a part of one (`MIG-…`). Without it, all of this machine.
"""

import os
import subprocess

VARIABLE = "CUDA_VISIBLE_DEVICES"


def visible(named=None, count=None):
    """The names of the GPUs that this process may use, or None if nobody says how many there are.

    `named` is the text of the variable and `count` finds the number of this machine's GPUs; both have defaults.
    """
    named = os.environ.get(VARIABLE) if named is None else named
    if named is None:
        found = (count or on_this_machine)()
        return None if found is None else [str(number) for number in range(found)]
    names = []
    for name in map(str.strip, named.split(",")):
        if not (name.isdigit() or name.startswith(("GPU-", "MIG-"))):
            break  # CUDA ignores what comes after a name that it does not know, as -1 or NoDevFiles
        names.append(name)
    return names


def name_of(number, names):
    """The GPU of the device `number`, the number of the process among those of GPUs, from 0. Devices beyond the GPUs share them in turn."""
    if names is None:
        return str(number)
    return names[number % len(names)] if names else ""


def choose(number):
    """Lets this process see the GPU of a device alone. Nothing may have used CUDA before."""
    os.environ[VARIABLE] = name_of(number, visible())


def sharing(devices, names):
    """For each of so many devices, how many of them are on its GPU."""
    mine = [name_of(number, names) for number in range(devices)]
    return [mine.count(name) for name in mine]


def local_number():
    """The number of this process on its host, if torchrun or Slurm started it."""
    for variable in ("LOCAL_RANK", "SLURM_LOCALID"):
        if os.environ.get(variable, "").isdigit():
            return int(os.environ[variable])
    return None


def on_this_machine():
    """How many GPUs this machine has, or None."""
    try:
        return len(os.listdir("/proc/driver/nvidia/gpus"))
    except OSError:
        pass
    try:
        lines = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=10, check=True).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return None
    return sum(line.startswith("GPU ") for line in lines)
