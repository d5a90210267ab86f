"""A worker: TensorFlow's gRPC server on one port, for one device of the processor and the host's GPUs.

It ends when its parent does (`--with-parent`), or when it is stopped.

One of its threads runs the ops. With no other thread, TensorFlow goes on with the ops that follow and keeps back what
is to be sent until it has to wait for something: a tensor that was ready after 3 ms left after 233 ms. So there is a
second thread, which has only sends to do as long as the order of the ops is fixed.
"""

import argparse
import os
import sys
import threading

from . import network
from .protocol import ExecuteError


def main(name, arguments):
    options = _parser(name).parse_args(arguments)
    hosts = options.hosts.split(",")
    if options.listen not in hosts:
        fault = f"--listen {options.listen} is none of --hosts {options.hosts}: write it as it stands there"
        raise ExecuteError("problem", fault)
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    if options.gpus:
        os.environ.setdefault("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(options.gpus))))
    try:
        sources = network.addresses([*hosts, *filter(None, options.allow.split(","))])
        server = _server(hosts, hosts.index(options.listen), options.gpus, options.threads)
        network.accept_only(sources)
    except OSError as error:
        raise ExecuteError("problem", str(error)) from None
    server.start()
    print("up", flush=True)
    if options.with_parent:
        sys.stdin.buffer.read()  # ends with the parent, which never writes
        os._exit(0)
    threading.Event().wait()


def _server(hosts, task, gpus, threads):
    """The server, not started: it listens, and answers nobody before the filter stands."""
    from ..trace import keep_memory
    from ..tf import tf, v1

    keep_memory()
    config = v1.ConfigProto(
        device_count={"CPU": 1, "GPU": gpus}, inter_op_parallelism_threads=threads, intra_op_parallelism_threads=1
    )
    try:
        return v1.train.Server(v1.train.ClusterSpec({"worker": hosts}), "worker", task, config=config, start=False)
    except tf.errors.OpError as error:
        raise ExecuteError("problem", f"cannot listen on {hosts[task]}: {error.message}") from None


def _parser(name):
    parser = argparse.ArgumentParser(prog=f"placebench_extract worker {name}", description="Serve one worker of a run.")
    parser.add_argument("--listen", required=True, metavar="ADDRESS:PORT", help="this worker's entry of --hosts")
    parser.add_argument("--hosts", required=True, metavar="LIST", help="address:port of all workers, in the run's order")
    parser.add_argument("--allow", default="", metavar="LIST", help="addresses of drivers on yet other hosts")
    parser.add_argument("--gpus", type=int, default=0, metavar="N", help="how many GPUs to serve (default: %(default)s)")
    one = "1 for the dynamic mode, so that ops do not overlap (default: %(default)s)"
    parser.add_argument("--threads", type=int, default=2, choices=(1, 2), help=one)
    parser.add_argument("--core", type=int, metavar="K", help="keep to this processor core")
    parser.add_argument("--with-parent", action="store_true", help="end when standard input does")
    return parser
