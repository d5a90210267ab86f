"""What the calibrations of all drivers share: which devices, sizes and flows are measured."""

import argparse

from .protocol import ExecuteError

SIZES = [1 << power for power in range(10, 25, 2)]
FLOW_BYTES, FLOW_COUNT = 1 << 22, 8


def parser(driver):
    parser = argparse.ArgumentParser(prog=f"placebench_extract calibrate {driver}", description="Measure devices and their connections.")
    parser.add_argument("--devices", type=int, default=2, metavar="N", help="CPU devices, a core each (default: %(default)s)")
    parser.add_argument("--gpus", type=int, default=0, metavar="N", help="GPUs (default: %(default)s)")
    return parser


def devices(options):
    """Name and kind of each device."""
    kinds = ["cpu"] * options.devices + ["gpu"] * options.gpus
    if not kinds:
        raise ExecuteError("problem", "there is no device: use --devices or --gpus")
    count = {}
    devices = []
    for kind in kinds:
        devices.append({"name": f"{kind}:{count.setdefault(kind, 0)}", "kind": kind})
        count[kind] += 1
    return devices


def flow_sets(count):
    """Which pairs send at once: one alone, both ways, from one device to two, from two to one, and two apart."""
    sets = [[[0, 1]], [[0, 1], [1, 0]]] if count > 1 else []
    sets += [[[0, 1], [0, 2]], [[0, 2], [1, 2]]] if count > 2 else []
    return sets + ([[[0, 1], [2, 3]]] if count > 3 else [])
