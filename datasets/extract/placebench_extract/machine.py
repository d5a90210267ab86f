"""What this machine is called."""

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
