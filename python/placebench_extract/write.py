"""Writes an extracted graph: one folder, complete or not there at all."""

import csv
import io
import os
import shutil
import tempfile
from pathlib import Path


class OutputError(OSError):
    """The output folder cannot be written."""


def check_writable(out):
    """Makes the output folder and tries it, so that hours of tracing are not lost to a wrong path."""
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    except OSError as error:
        raise OutputError(f"cannot write to {out}: {error.strerror}") from error


def write_folder(out, name, files):
    """Writes `files` (file name -> bytes) beside the target folder, then puts the folder in its place."""
    target = Path(out) / name
    try:
        fresh = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=out))
        try:
            for file, content in files.items():
                (fresh / file).write_bytes(content)
            fresh.chmod(0o755)
            if target.exists():
                old = Path(tempfile.mkdtemp(prefix=f".{name}.old.", dir=out))
                os.replace(target, old)
                os.replace(fresh, target)
                shutil.rmtree(old)
            else:
                os.replace(fresh, target)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror}") from error
    return target


def ops_csv(graph_def, layers, cpu_seconds, gpu_seconds, memory_bytes):
    """One row an operation, in the graph's order."""
    rows = [("name", "layer", "cpu_seconds", "gpu_seconds", "memory_bytes")]
    for node in graph_def.node:
        name = node.name
        gpu = gpu_seconds.get(name)
        rows.append((
            name,
            layers.get(name, ""),
            seconds(cpu_seconds.get(name, 0.0)),
            "" if gpu is None else seconds(gpu),
            memory_bytes.get(name, 0),
        ))
    return csv_bytes(rows)


def tensors_csv(rows):
    """One row an output port: (operation, port, bytes)."""
    return csv_bytes([("op", "port", "bytes"), *rows])


def tensor_rows(graph_def, sizes, traced):
    """The rows for every port that is read or was traced, and how many of the sizes are unknown (0)."""
    from . import graph as graphs

    position = {node.name: i for i, node in enumerate(graph_def.node)}
    ports = {port for node in graph_def.node for port in graphs.data_inputs(node)}
    ports.update(port for port in traced if port[0] in position)
    rows, unknown = [], 0
    for port in sorted(ports, key=lambda p: (position[p[0]], p[1])):
        unknown += port not in sizes
        rows.append((*port, sizes.get(port, 0)))
    return rows, unknown


def provenance_toml(entries):
    """A TOML table of strings, numbers, lists of numbers and one level of tables (written last)."""
    tables = {key: value for key, value in entries.items() if isinstance(value, dict)}
    lines = [f"{key} = {_toml(value)}" for key, value in entries.items() if key not in tables]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
    return ("\n".join(lines) + "\n").encode()


def seconds(value):
    """Seconds with the digits that the clock has."""
    return format(value, ".6g")


def csv_bytes(rows):
    """The rows as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
