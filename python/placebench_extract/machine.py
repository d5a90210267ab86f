"""What this machine is called, and how its memory is kept."""

import ctypes
import platform
import sys


def cpu_name():
    """The processor's name."""
    if sys.platform == "linux":
        with open("/proc/cpuinfo") as info:
            for line in info:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def keep_memory():
    """Has glibc keep freed memory, so that a step reuses what the warming up has touched.

    Otherwise every large tensor is mapped anew and the system's page faults, which vary tenfold, become
    part of the operation's time. Elsewhere than on glibc nothing is changed.
    """
    trim_threshold, mmap_max, arena_max = -1, -4, -8  # from malloc.h
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt:
            for option, value in ((trim_threshold, 2**31 - 1), (mmap_max, 0), (arena_max, 1)):
                mallopt(option, value)
