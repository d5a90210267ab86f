"""The command: `python -m placebench_extract list`, `… MODEL --out DIR`, `… execute`, `… calibrate`, `… worker`."""

import argparse
import sys
import time

from . import jax_models, models, torch_models
from .flat import TraceError
from .write import OutputError


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments[:1] in (["execute"], ["worker"], ["calibrate"]):
        from .execute import command

        return getattr(command, arguments[0])(arguments[1:])
    options = _parser().parse_args(arguments)
    try:
        if options.model == "list":
            _list()
            return 0
        if options.out is None:
            raise models.ModelError("where to? add --out DIR")
        print(_extract(options))
    except (models.ModelError, OutputError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _list():
    for package, catalogue in (("TensorFlow", models.CATALOGUE), ("JAX", jax_models.CATALOGUE), ("JAX", jax_models.published.titles())):
        for name, title in catalogue.items():
            print(f"{name:12} {package:10}  {title}")
    for name in jax_models.names()[len(jax_models.CATALOGUE) + len(jax_models.PUBLISHED):]:
        print(f"{name:12} {'JAX':10}  {jax_models.TITLE}")
    for name, title in torch_models.CATALOGUE.items():
        print(f"{name:12} {'PyTorch':10}  {title}")
    for name, title in torch_models.OTHERS.items():
        print(f"{name:12} {'PyTorch':10}  {title}")


def _extract(options):
    start = time.monotonic()

    def progress(message):
        print(f"{options.model}: {time.monotonic() - start:6.1f} s  {message}", file=sys.stderr, flush=True)

    settings = dict(options.set)
    if options.model in models.CATALOGUE:
        from .extract import extract

        if options.analytic:
            raise models.ModelError(f"{options.model} is a model in TensorFlow, whose costs are measured: leave out --analytic")
        try:
            return extract(options.model, options.out, options.whole, options.traces or 3, settings, progress)
        except ImportError as error:
            raise models.ModelError(str(error)) from None
    if options.whole or options.traces:
        raise models.ModelError(f"{options.model} is no model in TensorFlow: leave out --whole and --traces")
    if options.model in jax_models.names():
        from .jaxgraph.extract import extract
        from .jaxgraph.runtime import MissingJax as Missing
    elif torch_models.is_known(options.model):
        from .torchgraph.extract import extract
        from .torchgraph.runtime import MissingTorch as Missing
    else:
        known = ", ".join([*models.CATALOGUE, *jax_models.names(), *torch_models.CATALOGUE, *torch_models.OTHERS])
        raise models.ModelError(f"unknown model {options.model!r}; known: {known}")
    try:
        return extract(options.model, options.out, options.analytic, settings, progress)
    except (Missing, TraceError) as error:
        raise models.ModelError(str(error)) from None
    except ModuleNotFoundError as error:
        if error.name != "jax":
            raise
        from .jaxgraph.runtime import missing

        raise models.ModelError(missing(error)) from None


def _parser():
    parser = argparse.ArgumentParser(
        prog="placebench_extract",
        description="Extract the graph of a step from PyTorch, JAX or TensorFlow, with measured costs. "
        "`execute`, `calibrate` and `worker` run placements: add --help to them.",
    )
    parser.add_argument("model", help="a model's name, `list` for all of them, or in PyTorch FILE.py, module:function or huggingface:NAME")
    parser.add_argument("--out", metavar="DIR", help="where the model's folder is made")
    parser.add_argument("--whole", action="store_true", help="TensorFlow: keep initialisation and evaluation too, not only the training step")
    parser.add_argument("--traces", type=_positive, metavar="N", help="TensorFlow: traced steps (default: 3)")
    parser.add_argument("--analytic", action="store_true", help="JAX, PyTorch: measure nothing, so that a model may be of any size")
    parser.add_argument("--set", type=_setting, action="append", default=[], metavar="NAME=VALUE", help="change a parameter of the model")
    return parser


def _positive(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number")
    return int(text)


def _setting(text):
    """A number if it reads as one, else text."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            pass
    return name, value


if __name__ == "__main__":
    sys.exit(main())
