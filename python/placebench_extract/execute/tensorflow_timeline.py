"""What TensorFlow says about a step: the partitions that it made of the graph, and when everything ran."""

from .protocol import ExecuteError


def check_partitions(partitions, step, problem, device_names):
    """Makes sure that TensorFlow placed and sends what the problem says. Returns the transfer of each of its edges."""
    index = {name: op for op, name in enumerate(step.ops)}
    device = {name: number for number, name in enumerate(device_names)}
    where, edges = {}, {}
    for partition in partitions:
        nodes = {node.name: node for node in partition.node}
        for node in partition.node:
            if node.name in index:
                where[index[node.name]] = node.device
            elif node.op in ("_Send", "_HostSend"):
                key = _sent(node, nodes, index), device.get(node.attr["recv_device"].s.decode())
                edges[node.attr["tensor_name"].s.decode()] = key
    for op, name in enumerate(step.ops):
        wanted = device_names[problem.placement[op]]
        if where.get(op) != wanted:
            fault = f"TensorFlow runs op {name!r} on {where.get(op, 'no device')}, not on {wanted}"
            raise ExecuteError("unsupported", fault)
    transfers = {}
    for number, transfer in enumerate(problem.transfers):
        transfers[(transfer["source"], transfer["output"]), transfer["to"]] = number
    found = sorted(edges.values(), key=str)
    if len(transfers) != len(problem.transfers):
        raise ExecuteError("problem", "transfers: one stands there twice")
    for what, keys, others in (("TensorFlow sends", found, transfers), ("the problem sends", transfers, set(found))):
        for (source, output), to in keys:
            if ((source, output), to) not in others:
                tensor = "the end" if output is None else f"output {output}"
                name = step.ops[source] if source is not None else "an op of TensorFlow's own"
                counts = f"{len(found)} sends, {len(transfers)} transfers"
                raise ExecuteError("unsupported", f"only {what} {tensor} of {name!r} to device {to}: {counts}")
    if len(found) != len(transfers):
        raise ExecuteError("unsupported", f"TensorFlow sends {len(found)} times, the problem {len(transfers)} times")
    return {edge: transfers[key] for edge, key in edges.items()}


def _sent(node, nodes, index):
    """What a send node sends: (op, port), or (op, None) for a control signal, which is a constant behind the op."""
    source, _, port = node.input[0].partition(":")
    if source in index:
        return index[source], int(port or 0)
    signal = [name[1:] for name in nodes[source].input if name.startswith("^")] if source in nodes else []
    return (index.get(signal[0]), None) if signal else (None, None)


class Timeline:
    """When ops and transfers of a traced step started and ended, in microseconds from `start` (nanoseconds, Unix)."""

    def __init__(self, metadata, start, offsets):
        """`offsets` are what to subtract from the clock of each task, in nanoseconds, by device name."""
        self.ops, self.received = {}, {}
        for stats in metadata.step_stats.dev_stats:
            zero = start + offsets.get(stats.device, 0)
            for node in stats.node_stats:
                begin = (node.all_start_nanos or node.all_start_micros * 1000) - zero
                if node.node_name == "RecvTensor":
                    edge = node.timeline_label.split("] ")[-1].partition(" from /")[0]
                    size = sum(output.tensor_description.allocation_description.requested_bytes for output in node.output)
                    self.received[edge] = (begin / 1e3, begin / 1e3 + node.all_end_rel_micros, size)
                elif stats.device in offsets:
                    interval = (begin + node.op_start_rel_nanos) / 1e3, (begin + node.op_end_rel_nanos) / 1e3
                    self.ops[node.node_name] = interval

    def lacks(self, step, problem, edges, tasks):
        """A transfer between processes (`tasks`: of each device) that TensorFlow did not trace, or None.

        It loses some when the host is busy.
        """
        received = {number for edge, number in edges.items() if edge in self.received}
        for number, transfer in enumerate(problem.transfers):
            if number not in received and tasks[transfer["from"]] != tasks[transfer["to"]]:
                name = step.ops[transfer["source"]]
                return f"TensorFlow's trace lacks a transfer of op {name!r} to device {transfer['to']}"
        return None

    def of(self, step, problem, edges, sequence):
        """The intervals of the problem's ops and transfers by id, the bytes moved, and how many ops did not run.

        `sequence` has every op behind those it waits for. An op in a branch that was not taken takes no time, at the
        moment when all that it waits for is there. A transfer within a process leaves no trace: it takes the time
        between its producer and the consumer.
        """
        arrived = [None] * len(problem.transfers)
        for edge, number in edges.items():
            arrived[number] = self.received.get(edge)
        moved = sum(received[2] for received in arrived if received)
        local, received_by, sent_by = _inputs(step, problem)
        ops, not_run, last = [None] * len(step.ops), 0, [0.0] * len(problem.devices)
        for op in sequence:
            device = problem.placement[op]
            found = self.ops.get(step.ops[op])
            ready = max((ops[source][1] for source in local[op]), default=0.0)
            for number in received_by[op]:
                if arrived[number] is None:
                    begin = ops[problem.transfers[number]["source"]][1]
                    arrived[number] = begin, max(begin, found[0] if found else begin)
                ready = max(ready, arrived[number][1])
            if found is None:
                not_run += 1
                ready = max(ready, last[device]) if problem.mode == "replay" else ready
                found = ready, ready
            ops[op] = found
            last[device] = found[1]
            for number in sent_by[op]:
                if arrived[number]:  # its clock has whole microseconds
                    begin = max(arrived[number][0], found[1])
                    arrived[number] = begin, max(begin, arrived[number][1])
        return ops, arrived, moved, not_run


def _inputs(step, problem):
    """For each op: the ops on its device that it waits for, the transfers that it waits for, and those it causes."""
    index = {name: op for op, name in enumerate(step.ops)}
    numbers, sent_by = {}, [[] for _ in step.ops]
    for number, transfer in enumerate(problem.transfers):
        numbers[transfer["source"], transfer["output"], transfer["to"]] = number
        sent_by[transfer["source"]].append(number)
    local, received_by = [[] for _ in step.ops], [[] for _ in step.ops]
    for node in step.definition.node:
        op = index.get(node.name)
        for text in node.input if op is not None else ():
            name, _, port = text.lstrip("^").partition(":")
            source, to = index[name], problem.placement[op]
            if problem.placement[source] == to:
                local[op].append(source)
            else:
                received_by[op].append(numbers[source, None if text.startswith("^") else int(port or 0), to])
    return local, received_by, sent_by
