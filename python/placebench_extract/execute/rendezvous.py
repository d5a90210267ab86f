"""Workers that torchrun started. They find each other by its rendezvous, and the first one says where all of them listen.

torchrun gives each process its RANK, which is the number of its device, the WORLD_SIZE, and a store at MASTER_ADDR and
MASTER_PORT. Its rendezvous (`--rdzv_backend`, `--master_addr`) has put them there, so nobody has to name hosts or ports.
"""

import ipaddress
import os
import socket
import sys
from datetime import timedelta

from .protocol import ExecuteError

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
PATIENCE = timedelta(minutes=10)  # torchrun waits as long for all hosts to join


def is_there():
    """Whether torchrun, or a program that says the same, started this process."""
    return all(os.environ.get(variable) for variable in VARIABLES)


def own_address():
    """The address of this host by which it reaches the first one."""
    master, port = os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"]
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(master, int(port), type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(address)  # chooses a way, and sends nothing
            own = probe.getsockname()[0]
    except (OSError, ValueError) as error:
        raise ExecuteError("problem", f"cannot reach torchrun's MASTER_ADDR and MASTER_PORT ({master}, {port}): {error}") from None
    several = os.environ.get("LOCAL_WORLD_SIZE", os.environ["WORLD_SIZE"]) != os.environ["WORLD_SIZE"]
    if several and ipaddress.ip_address(own.partition("%")[0]).is_loopback:
        remedy = "give the torchrun of the first host --local_addr with an address that the others see, or name --listen ADDRESS:PORT here"
        raise ExecuteError("problem", f"MASTER_ADDR {master} is a loopback address on this host, so others cannot connect: {remedy}")
    return own


def announce(address):
    """Tells the other processes where this one listens. The first one gets all addresses, by rank; the others None."""
    try:
        from torch.distributed.rendezvous import rendezvous
    except ImportError:
        raise ExecuteError("problem", "torchrun's rendezvous needs PyTorch here: install it, or name --listen ADDRESS:PORT") from None
    where, size = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}", os.environ["WORLD_SIZE"]
    print(f"rank {os.environ['RANK']}: waiting for the {size} processes of torchrun at {where}", file=sys.stderr, flush=True)
    # The store outlives processes that torchrun starts again, and what they said.
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    try:
        store, rank, size = next(rendezvous("env://", timeout=PATIENCE))
        store.set(f"placebench/{attempt}/{rank}", address)
        return [store.get(f"placebench/{attempt}/{peer}").decode() for peer in range(size)] if rank == 0 else None
    except (RuntimeError, ValueError) as error:
        remedy = f"start all {size} processes, with the same MASTER_ADDR and MASTER_PORT"
        raise ExecuteError("problem", f"torchrun's rendezvous at {where} failed: {str(error).splitlines()[0]}: {remedy}") from None
