"""One clock for all processes of a host."""

import time

now = time.monotonic_ns


def wait_until(at):
    """Sleeps until shortly before a time, then spins."""
    ahead = at - now() - 300_000
    if ahead > 0:
        time.sleep(ahead / 1e9)
    while now() < at:
        pass
