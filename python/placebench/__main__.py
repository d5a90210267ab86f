"""The command ``placebench``: ``pip`` installs it, and ``python -m placebench`` is the same."""

import os
import shutil
import signal
import sys
import sysconfig

from ._placebench import run_command


def main() -> None:
    """Does what the arguments say, and ends the process."""
    # Ctrl-C ends the command, which listens itself where work can stop in an orderly way. What is ignored stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Executors and extractors are packages of this Python.
    os.environ.setdefault("PLACEBENCH_PYTHON", sys.executable)
    run_command(_script(), sys.argv[1:])


def _script() -> str:
    """The script ``placebench`` of this Python: what works in several processes starts it again."""
    started = shutil.which(sys.argv[0])
    if started is not None and os.path.splitext(os.path.basename(started))[0] == "placebench":
        return os.path.abspath(started)
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    found = shutil.which("placebench", path=os.pathsep.join(folders)) or shutil.which("placebench")
    return found or os.path.abspath(sys.argv[0])


if __name__ == "__main__":
    main()
