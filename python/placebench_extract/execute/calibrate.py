"""Measures what a simulation needs to predict steps on these devices, by the processes that run steps.

One event `calibration` has

- `devices`: name, kind, memory, and the seconds of a call that computes next to nothing;
- `equations`: each distinct equation of the graphs: type, operations, bytes, and for each device its seconds, alone
  (least, median) and within a step that runs on this device, while the others run it, too (median);
- `graphs`: for each graph the equation of each op (null: an argument, which takes no time), the seconds of the whole
  step on each device, and what the step takes beyond its equations, for each op. The times of a processor are
  processor time, so that what others do there does not count;
- `transfers`: for each ordered pair and size the processor time of a tensor at the sender and at the receiver, and the
  time from the end of the op that made it until an op can read it (least, median). Tensors are sent one by one;
- `steps`: what devices did in steps of random graphs, placed at random on two devices each: how many tensors and bytes they
  sent and received, their processor time, and how much of it their ops took. The rest is what transfers take in a step,
  where tensors come from memory and ops, threads and transfers share a core. Devices that are processors have them;
- `flows`: several pairs at once, each sending without pause: seconds a tensor. If two take as long as one, they do
  not share;
- `noise`: by how much ops, whole steps and transfers vary from run to run.
"""

import itertools
import os
import secrets
import statistics

from . import synthetic
from .calibration import FLOW_BYTES, FLOW_COUNT, SIZES, devices as all_devices, flow_sets, parser
from .clock import now
from .driver import LEAD, REPEATS, Run, gather
from .frameworks import framework
from .machine_noise import MachineNoise
from .model import model, parameters_of
from .protocol import TRANSPORTS, ExecuteError, event

WARM_UP, STEPS, TRACED = 2, 5, 5
SEED, PLACEMENTS = 0, 12  # of a random graph, and how often two devices execute it


def main(name, arguments):
    module = framework(name)
    options = _parser(name, module.GRAPHS).parse_args(arguments)
    devices = all_devices(options)
    hosts = options.hosts.split(",") if options.hosts else []
    if hosts and len(hosts) != len(devices):
        raise ExecuteError("problem", f"there are {len(hosts)} hosts for {len(devices)} devices: name one for each device")
    token = os.environ.get("PLACEBENCH_TOKEN") if hosts else secrets.token_hex(16)
    if not token:
        raise ExecuteError("problem", "with --hosts, the environment variable PLACEBENCH_TOKEN has the workers' token")
    measured = {"devices": None, "equations": [], "graphs": [], "transfers": [], "steps": [], "flows": []}
    index, noise = {}, MachineNoise()
    for number, graph in enumerate(options.graph or module.GRAPHS):
        with Run(name, devices, options.transport, hosts, token) as run:
            run.repeats = options.repeats
            _graph(run, module, graph, measured, index, noise)
            if number == 0:
                event("ready", hardware=run.hardware())
                measured["transfers"] = _transfers(run, noise)
                measured["flows"] = _flows(run)
                measured["steps"] = _random_steps(run, module)
    event("calibration", **measured, noise=noise.answer())


def _plan(run, placement, transfers):
    """The plan of a placement, whose ops run in the order of the graph."""
    order = [[op for op, on in enumerate(placement) if on == device] for device in range(len(run.devices))]
    return {"placement": placement, "order": order, "transfers": transfers, "mode": "replay"}


def _whole(run, flat):
    """For each device the plan that has all ops there."""
    return [_plan(run, [device] * len(flat.ops), []) for device in range(len(run.devices))]


def _graph(run, module, graph, measured, index, noise):
    """Measures the equations of a graph, and its whole step on each device."""
    parameters = parameters_of(module, graph)
    program, flat = model(module, graph, parameters)
    ops = range(len(flat.ops))
    run.setup(graph, [op.name for op in flat.ops], parameters, _whole(run, flat))

    keys = list(dict.fromkeys(op.equation.key for op in flat.ops if op.equation))
    position = {key: k for k, key in enumerate(keys)}
    which = [position[op.equation.key] if op.equation else None for op in flat.ops]
    answers = [worker.ask({"do": "measure", "what": "equations"})[0] for worker in run.workers]
    alone, calls = [answer["equations"] for answer in answers], [answer["call"] for answer in answers]

    # All devices execute at once, as in placed steps: what they share is then as busy as there.
    def step(traced):
        return run.steady_step(range(len(run.devices)), traced)

    is_cpus = [device["kind"] == "cpu" for device in run.devices]
    for _ in range(WARM_UP):
        run.step(range(len(run.devices)), False)
    steps = [[] for _ in run.devices]
    for answer in (step(False) for _ in range(STEPS)):
        for seconds, is_cpu, clock, device in zip(steps, is_cpus, answer["clocks"], answer["answers"]):
            seconds.append(device["busy"] / 1e9 if is_cpu else clock(device["end"]) / 1e6)
    samples = [[[] for _ in keys] for _ in run.devices]
    by_op = [[[] for _ in ops] for _ in run.devices]
    for answer in (step(True) for _ in range(TRACED)):
        for seconds, of_ops, is_cpu, device in zip(samples, by_op, is_cpus, answer["answers"]):
            for op, begin, end, busy in device["ops"]:
                if which[op] is not None:
                    took = (busy if is_cpu else end - begin) / 1e9
                    seconds[which[op]].append(took)
                    of_ops[op].append(took)
    for of_ops in by_op:
        noise.add_ops(of_ops)
    within = [[statistics.median(times) for times in seconds] for seconds in samples]
    if measured["devices"] is None:
        measured["devices"] = [
            {**device, "memory_bytes": _share(run, device, described["memory"]), "call_seconds": call}
            for device, described, call in zip(run.devices, run.described, calls)
        ]
    _add_equations(module, flat, keys, which, alone, within, measured, index)
    names = [device["name"] for device in run.devices]
    measured["graphs"].append({
        "graph": graph,
        "parameters": {key: str(value) for key, value in program.parameters.items()},
        "ops": [None if k is None else index[keys[k]] for k in which],
        "step_seconds": dict(zip(names, steps)),
        "op_overhead_seconds": {
            name: (statistics.median(step) - sum(times[k] for k in which if k is not None)) / len(which)
            for name, step, times in zip(names, steps, within)
        },
    })  # fmt: skip


def _share(run, device, memory):
    """What a device may use of its memory: processors of one host share the host's."""
    sharing = 1 if run.hosts or device["kind"] != "cpu" else sum(other["kind"] == "cpu" for other in run.devices)
    return memory // sharing


def _add_equations(module, flat, keys, which, alone, within, measured, index):
    first = {}
    for op, k in zip(flat.ops, which):
        if k is not None:
            first.setdefault(k, op)
    names = [device["name"] for device in measured["devices"]]
    for k, key in enumerate(keys):
        if key in index:
            continue
        index[key] = len(measured["equations"])
        operations, moved = module.costs(first[k].equation)
        measured["equations"].append({
            "type": first[k].type,
            "operations": operations,
            "bytes": moved,
            "alone_seconds": {name: times[k] for name, times in zip(names, alone)},
            "step_seconds": {name: times[k] for name, times in zip(names, within)},
        })  # fmt: skip


def _random_steps(run, module):
    """What each processor does in random placements of random graphs, two processors at a time."""
    cpus = [rank for rank, device in enumerate(run.devices) if device["kind"] == "cpu"]
    pairs = list(itertools.combinations(cpus, 2))
    if not pairs:
        return []
    return [step for sizes in range(len(synthetic.SIZES)) for step in _steps_of_graph(run, module, sizes, pairs)]


def _steps_of_graph(run, module, sizes, pairs):
    """The same of one graph, whose tensors have these `synthetic.SIZES`."""
    parameters = {"seed": str(SEED), "sizes": str(sizes)}
    _, flat = model(module, synthetic.GRAPH, parameters)
    plans, whole = _whole(run, flat), list(range(len(run.devices)))
    for pair in pairs:
        for number in range(PLACEMENTS):
            placement = synthetic.placement(flat, pair, sizes, number)
            plans.append(_plan(run, placement, synthetic.transfers(flat, placement)))
    run.setup(synthetic.GRAPH, [op.name for op in flat.ops], parameters, plans)

    # Placed steps and whole ones take turns, so that a machine that drifts treats them alike.
    placed = range(len(whole), len(plans))
    busy = {plan: [[] for _ in run.devices] for plan in (None, *placed)}
    for round_ in range(WARM_UP + STEPS):
        for plan in busy:
            step = run.steady_step if round_ >= WARM_UP else run.step
            answer = step(whole if plan is None else [plan] * len(run.devices), False)
            if round_ >= WARM_UP:
                for seconds, device in zip(busy[plan], answer["answers"]):
                    seconds.append(device["busy"] / 1e9)
    traced = [run.steady_step(whole, True) for _ in range(TRACED)]

    shares = [_shares_of_ops(flat, [step["answers"][device]["ops"] for step in traced]) for device in whole]
    found = []
    for (pair, _), plan in zip(itertools.product(pairs, range(PLACEMENTS)), placed):
        placement, moved = plans[plan]["placement"], plans[plan]["transfers"]
        for device, peer in (pair, pair[::-1]):
            share = sum(shares[device][op] for op, on in enumerate(placement) if on == device)
            out, in_ = ([tensor["bytes"] for tensor in moved if tensor[end] == device] for end in ("from", "to"))
            found.append({
                "device": device, "peer": peer,
                "sends": len(out), "sent_bytes": sum(out), "receives": len(in_), "received_bytes": sum(in_),
                "busy_seconds": statistics.median(busy[plan][device]),
                "op_seconds": share * statistics.median(busy[None][device]),
            })  # fmt: skip
    return found


def _shares_of_ops(flat, steps):
    """The share of each op in what a device is busy for. `steps` are traced ones."""
    times = [[] for _ in flat.ops]
    for step in steps:
        for op, _, _, busy in step:
            times[op].append(busy)
    times = [statistics.median(busy) for busy in times]
    return [busy / sum(times) for busy in times]


def _transfers(run, noise):
    found = []
    for sender in range(len(run.devices)):
        for receiver in range(len(run.devices)):
            if sender == receiver:
                continue
            for size in SIZES:
                gap = 1_000_000 + 6 * size  # longer than the tensor takes at 0.5 GB/s
                count = 30 if size < 1 << 20 else 10
                answers = _flow(run, [[sender, receiver]], size, count, gap)
                put, arrived = answers[sender]["put"], dict(answers[receiver]["arrived"])
                apart = run.offsets[receiver] - run.offsets[sender]
                took = sorted((arrived[transfer] - at - apart) / 1e9 for transfer, at in put)
                noise.add_transfers(took)
                found.append({
                    "from": sender, "to": receiver, "bytes": size, "count": count,
                    "sender_seconds": answers[sender]["busy"] / 1e9,
                    "receiver_seconds": answers[receiver]["busy"] / 1e9,
                    "one_way_seconds": [took[0], took[len(took) // 2]],
                })  # fmt: skip
    return found


def _flows(run):
    """What pairs take that send at once."""
    found = []
    for pairs in flow_sets(len(run.devices)):
        begun, ended = [], []
        for device, answer in enumerate(_flow(run, pairs, FLOW_BYTES, FLOW_COUNT, 0)):
            begun += [at - run.offsets[device] for _, at in answer["put"]] if answer else []
            ended += [at - run.offsets[device] for _, at in answer["arrived"]] if answer else []
        found.append({"pairs": pairs, "bytes": FLOW_BYTES, "seconds": (max(ended) - min(begun)) / 1e9 / FLOW_COUNT})
    return found


def _flow(run, pairs, size, count, gap):
    """The answers of the devices, None for those that take no part."""

    def attempt():
        answers = _flow_once(run, pairs, size, count, gap)
        return answers, run.is_steady(answers)

    return run.repeat(attempt)[0]


def _flow_once(run, pairs, size, count, gap):
    run.number += 1
    start = now() + LEAD + count * gap + 20_000_000  # senders first time their pauses
    answers = [None] * len(run.devices)
    part = sorted({device for pair in pairs for device in pair})
    for device in part:
        run.workers[device].tell({
            "do": "measure", "what": "flow", "number": run.number, "bytes": size, "count": count, "gap": gap,
            "sends": [[k, to] for k, (source, to) in enumerate(pairs) if source == device],
            "receives": [[k, source] for k, (source, to) in enumerate(pairs) if to == device],
            "at": start + run.offsets[device],
        })  # fmt: skip
    for device, answer in zip(part, gather([run.workers[device] for device in part])):
        answers[device] = answer
    return answers


def _parser(name, graphs):
    options = parser(name)
    options.add_argument("--repeats", type=int, default=REPEATS, metavar="N", help="steps on a slow core to run again, for each that counts (default: %(default)s)")
    options.add_argument("--hosts", default="", metavar="LIST", help="host:port of a worker for each device; none: processes of this host")
    options.add_argument("--transport", choices=TRANSPORTS, default=TRANSPORTS[0], help="how tensors move between processes (default: %(default)s)")
    options.add_argument("--graph", action="append", metavar="GRAPH", help=f"a model or an extracted folder (default: {' '.join(graphs)})")
    return options
