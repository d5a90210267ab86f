"""The command: `python -m placebench_extract list`, `… MODEL --out DIR`, `… execute DRIVER --problem FILE`."""

import argparse
import sys
import time

from . import models
from .extract import extract
from .write import OutputError


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] in (["execute"], ["worker"]):
        from .execute import command

        return getattr(command, arguments[0])(arguments[1:])
    options = _parser().parse_args(arguments)
    if options.model == "list":
        for name, title in models.CATALOGUE.items():
            print(f"{name:12} {title}")
        return 0
    start = time.monotonic()

    def progress(message):
        print(f"{options.model}: {time.monotonic() - start:6.1f} s  {message}", file=sys.stderr, flush=True)

    try:
        if options.out is None:
            raise models.ModelError("where to? add --out DIR")
        folder = extract(options.model, options.out, options.whole, options.traces, dict(options.set), progress)
    except (models.ModelError, OutputError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(folder)
    return 0


def _parser():
    parser = argparse.ArgumentParser(prog="placebench_extract", description="Extract a training graph from TensorFlow, with measured costs.")
    parser.add_argument("model", help="a model's name, or `list` for all of them")
    parser.add_argument("--out", metavar="DIR", help="where the model's folder is made")
    parser.add_argument("--whole", action="store_true", help="keep initialisation and evaluation too, not only the training step")
    parser.add_argument("--traces", type=_positive, default=3, metavar="N", help="traced steps (default: %(default)s)")
    parser.add_argument("--set", type=_setting, action="append", default=[], metavar="NAME=VALUE", help="change a parameter of the model")
    return parser


def _positive(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number")
    return int(text)


def _setting(text):
    name, equals, value = text.partition("=")
    try:
        return name, (float(value) if "." in value or "e" in value else int(value))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NUMBER") from None


if __name__ == "__main__":
    sys.exit(main())
