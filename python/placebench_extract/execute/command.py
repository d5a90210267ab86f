"""`execute DRIVER --problem FILE`, `calibrate DRIVER …` and `worker DRIVER …`.

A driver is a module here and a line in each table. Frameworks that share a driver are lines in `frameworks.py`, too.
"""

import argparse
import importlib
import sys

from .protocol import ExecuteError, event, read_problem

DRIVERS = {"jax": ".driver", "torch": ".driver", "tensorflow": ".tensorflow_driver"}
CALIBRATIONS = {"jax": ".calibrate", "torch": ".calibrate", "tensorflow": ".tensorflow_calibrate"}
WORKERS = {"jax": ".worker", "torch": ".worker", "tensorflow": ".tensorflow_worker"}


def execute(arguments):
    """Runs a problem. Answers 0, or 1 after an event that says why not."""
    parser = argparse.ArgumentParser(prog="placebench_extract execute", description="Run a placement for real.")
    parser.add_argument("driver", choices=DRIVERS)
    parser.add_argument(
        "--problem", required=True, action="append", metavar="FILE",
        help="the placement, as JSON; jax, torch: several of one graph take turns, step about",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    try:
        problems = [read_problem(path) for path in options.problem]
        driver = importlib.import_module(DRIVERS[options.driver], __package__)
        if len(problems) == 1:
            driver.run(options.driver, problems[0])
        elif hasattr(driver, "run_rounds"):
            driver.run_rounds(options.driver, problems)
        else:
            raise ExecuteError("unsupported", f"{options.driver} runs one problem at a time")
    except ExecuteError as error:
        event("error", kind=error.kind, message=str(error))
        return 1
    return 0


def calibrate(arguments):
    """Measures devices. Answers 0, or 1 after an event that says why not."""
    if not arguments or arguments[0] not in CALIBRATIONS:
        print(f"error: calibrate what? One of: {', '.join(CALIBRATIONS)}", file=sys.stderr)
        return 2
    try:
        importlib.import_module(CALIBRATIONS[arguments[0]], __package__).main(arguments[0], arguments[1:])
    except ModuleNotFoundError as error:
        event("error", kind="unsupported", message=f"{sys.executable} has no {error.name}: install it, or name another Python in PLACEBENCH_PYTHON")
        return 1
    except ExecuteError as error:
        event("error", kind=error.kind, message=str(error))
        return 1
    return 0


def worker(arguments):
    """Serves a worker until it is stopped."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(f"usage: placebench_extract worker NAME …\n\nServe one device of a run. NAME is one of: {', '.join(WORKERS)}. Add --help to it.")
        return 0
    if not arguments or arguments[0] not in WORKERS:
        print(f"error: which worker? One of: {', '.join(WORKERS)}", file=sys.stderr)
        return 2
    try:
        importlib.import_module(WORKERS[arguments[0]], __package__).main(arguments[0], arguments[1:])
    except ExecuteError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
