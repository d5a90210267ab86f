#!/usr/bin/env python3
"""Compares placebench's partitioners with METIS, Mt-KaHyPar, KaMinPar and Scotch on generated graphs.

Makes the graphs with `placebench`, runs every tool in a process of its own (ours as `placebench partition`), judges every
partition with `placebench partition --evaluate`, appends a row a run to a CSV file (a run that is there is not repeated), and
writes tables of geometric means. With --families, the comparison with Mt-KaHyPar on graphs and hypergraphs of
`instances.py` instead. See README.md.
"""

import argparse
import csv
import hashlib
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EPSILON = 0.03

# How each graph is made: arguments of placebench, or the graph of a training step in the catalogue.
GRAPHS = {
    "grid": ["generate", "grid(side=1000)"],
    "rgg": ["generate", "random_geometric(vertices=262144)", "--seed", "1"],
    "rmat": ["generate", "rmat(scale=18, degree=16)", "--seed", "1"],
    "rmat_core": ["generate", "rmat(scale=18, degree=16, isolated=false)", "--seed", "1"],
    "laich3_88k": ["generate", "laich3", "--ops", "88000", "--seed", "1"],
    "laich6_88k": ["generate", "laich6", "--ops", "88000", "--seed", "1"],
    "laich2_1m": ["generate", "laich2", "--ops", "1000000", "--seed", "1"],
    "lstm_lm": None,
    "nmt": None,
    "resnet50": None,
    "transformer": None,
}
LEVELED = ["laich3_88k", "laich6_88k", "laich2_1m"]

OURS = {
    "fast": "multilevel(preset=fast)",
    "default": "multilevel",
    "quality": "multilevel(preset=quality)",
    "default_acyclic": "multilevel(acyclic=true)",
    "quality_acyclic": "multilevel(preset=quality,acyclic=true)",
    "level_slabs": "level_slabs",
    "chunk_degree": "chunk(order=degree)",
}
TOOLS = ["metis", "metis_rb", "mtkahypar", "kaminpar", "scotch", *OURS]
REFERENCE = "metis"
# Tools whose partition does not depend on the seed: one run counts for all.
SEEDLESS = {"scotch", "level_slabs", "chunk_degree"}
ACYCLIC = {"default_acyclic", "quality_acyclic"}

FIELDS = [
    "graph", "k", "seed", "tool", "threads", "cut", "volume", "imbalance", "feasible", "partition_cpu_s",
    "partition_wall_s", "process_cpu_s", "process_wall_s", "peak_mb", "sha256", "note",
]


# ---------------------------------------------------------------- the set


def narrowed(path):
    """Halves the weights of a METIS file until each sum fits into 30 bits, which METIS's ids of 32 bits can hold."""
    lines = path.read_text().split("\n")
    head = lines[0].split()
    flags = head[2].rjust(3, "0") if len(head) > 2 else "000"
    vertex_weights, edge_weights = flags[1] == "1", flags[2] == "1"
    rows = [[int(word) for word in line.split()] for line in lines[1 : int(head[0]) + 1]]
    at = 1 if vertex_weights else 0

    def shift(total, count):
        bits = 0
        while (total >> bits) + count >= 1 << 30:
            bits += 1
        return bits

    def halved(value, bits):
        return -(-value >> bits)

    if vertex_weights:
        bits = shift(sum(row[0] for row in rows), len(rows))
        for row in rows:
            row[0] = -(-row[0] >> bits)
    if edge_weights:
        bits = shift(sum(sum(row[at + 1 :: 2]) for row in rows) // 2, int(head[1]))
        for row in rows:
            row[at + 1 :: 2] = [-(-weight >> bits) for weight in row[at + 1 :: 2]]
    path.write_text("\n".join([lines[0]] + [" ".join(map(str, row)) for row in rows]) + "\n")


def write_scotch(source, target):
    """Scotch's own format, since the Debian package has no converter."""
    with open(source) as file, open(target, "w") as out:
        head = file.readline().split()
        flags = head[2].rjust(3, "0") if len(head) > 2 else "000"
        vertex_weights, edge_weights = flags[1] == "1", flags[2] == "1"
        out.write(f"0\n{head[0]} {2 * int(head[1])}\n1 0{int(edge_weights)}{int(vertex_weights)}\n")
        for line in file:
            words = line.split()
            start = [words.pop(0)] if vertex_weights else []
            degree = len(words) // 2 if edge_weights else len(words)
            if edge_weights:
                # Scotch has the weight before the neighbour.
                words[0::2], words[1::2] = words[1::2], words[0::2]
            out.write(" ".join(start + [str(degree)] + words) + "\n")


def make(name, options):
    path = options.work / f"{name}.graph"
    scotch = path.with_suffix(".src")
    if not path.exists():
        how = GRAPHS[name]
        arguments = [*how, "--out", path] if how else ["convert", name, path]
        subprocess.run([options.placebench, *map(str, arguments)], check=True, stdout=sys.stderr)
        if how is None:
            narrowed(path)
    if "scotch" in options.tools and not scotch.exists():
        write_scotch(path, scotch)
    return path


# ---------------------------------------------------------------- running


class Failed(Exception):
    pass


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def measured(command, limit, environment=None):
    """Runs a command; its output, processor and wall seconds and peak resident set in MB.

    GNU time stands between, since the peak of a process that this one starts would never be below its own.
    """
    with tempfile.TemporaryFile() as output, tempfile.NamedTemporaryFile("r") as peak:
        started = time.monotonic()
        process = subprocess.Popen(
            ["time", "-f", "%M", "-o", peak.name, *map(str, command)],
            stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})},
        )
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - started > limit:
                subprocess.run(["kill", "-9", *children(process.pid)])
                os.wait4(process.pid, 0)
                process.returncode = -9
                raise Failed(f"no answer in {limit} s")
            time.sleep(0.002)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - started
        output.seek(0)
        text = output.read().decode(errors="replace")
        kilobytes = peak.read().split()
    if process.returncode != 0:
        lines = text.strip().splitlines()
        raise Failed(f"exit {process.returncode}: {lines[-1][:120] if lines else ''}")
    cost = {
        "process_cpu_s": usage.ru_utime + usage.ru_stime,
        "process_wall_s": wall,
        "peak_mb": int(kilobytes[-1]) * 1024 / 1e6,
    }
    return text, cost


def found(pattern, text):
    match = re.search(pattern, text)
    if not match:
        raise Failed(f"no '{pattern}' in the output")
    return match


def run_metis(graph, k, seed, out, options, scheme):
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        # gpmetis writes beside what it reads.
        link = Path(folder) / "g.graph"
        link.symlink_to(graph.resolve())
        command = ["gpmetis", f"-ptype={scheme}", f"-ufactor={round(1000 * EPSILON)}", f"-seed={seed}", link, k]
        text, cost = measured(command, options.limit)
        os.replace(f"{link}.part.{k}", out)
    cost["partition_cpu_s"] = float(found(r"Partitioning:\s*([\d.]+) sec", text)[1])
    return cost


def run_scotch(graph, k, seed, out, options):
    answer = options.work / "scotch.map"
    command = ["scotch_gpart", f"-b{EPSILON}", "-vt", k, graph.with_suffix(".src"), answer]
    text, cost = measured(command, options.limit, {"SCOTCH_THREADS": "1"})
    cost["partition_wall_s"] = float(found(r"(?:Mapping|Partitioning)\s+([\d.]+)", text)[1])
    # In a process of its own: what this one holds counts towards the peak of those that it starts.
    subprocess.run([sys.executable, __file__, "--plain", answer, out], check=True)
    answer.unlink()
    return cost


def plain(answer, out):
    """From Scotch's list of vertices and blocks to a block a line."""
    pairs = sorted(tuple(map(int, line.split())) for line in Path(answer).read_text().splitlines()[1:])
    Path(out).write_text("".join(f"{block}\n" for _, block in pairs))


def run_python(tool, graph, k, seed, out, options, threads):
    command = [options.python, __file__, "--drive", tool, graph, k, seed, threads, out]
    text, cost = measured(command, options.limit)
    cost.update(json.loads(found(r"\{.*\}", text)[0]))
    return cost


def run_ours(spec, graph, k, seed, out, options, threads):
    command = [options.placebench, "partition", graph, "-k", k, "-e", EPSILON, "-a", spec, "--seed", seed]
    text, cost = measured([*command, "--threads", threads, "-o", out], options.limit)
    match = found(r"partitioned in\s+([\d.]+) s(?:, ([\d.]+) s of processor time)?", text)
    cost["partition_wall_s"] = float(match[1])
    if match[2]:
        cost["partition_cpu_s"] = float(match[2])
    return cost


def run(tool, graph, k, seed, threads, out, options):
    if tool in ("metis", "metis_rb"):
        return run_metis(graph, k, seed, out, options, "rb" if tool == "metis_rb" else "kway")
    if tool == "scotch":
        return run_scotch(graph, k, seed, out, options)
    if tool in OURS:
        return run_ours(OURS[tool], graph, k, seed, out, options, threads)
    return run_python(tool, graph, k, seed, out, options, threads)


def judged(graph, k, out, options):
    """What placebench says about a partition, whoever made it."""
    command = [options.placebench, "partition", graph, "-k", k, "-e", EPSILON, "--evaluate", out]
    text = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout
    connectivity = re.search(r"connectivity\s+(\d+)", text)
    return {
        "cut": int(found(r"cut\s+(\d+)", text)[1]),
        "volume": int(found(r"volume\s+(\d+)", text)[1]),
        "connectivity": int(connectivity[1]) if connectivity else None,
        "imbalance": float(found(r"imbalance\s+([\d.-]+)", text)[1]),
        "feasible": "yes" if re.search(r"feasible\s+yes", text) else "no",
        "sha256": hashlib.sha256(out.read_bytes()).hexdigest()[:16],
    }


def drive(tool, graph, k, seed, threads, out):
    """Runs a tool that is a Python package, in this process."""
    k, seed, threads = int(k), int(seed), int(threads)
    if tool == "kaminpar":
        import kaminpar

        kaminpar.reseed(seed)
        read = kaminpar.load_graph(graph, kaminpar.GraphFileFormat.METIS)
        worker = kaminpar.KaMinPar(threads, kaminpar.default_context())
        started, clock = time.process_time(), time.monotonic()
        block_of = worker.compute_partition(read, k, EPSILON)
    else:
        import mtkahypar

        library = mtkahypar.initialize(threads)
        preset = mtkahypar.PresetType.QUALITY if tool == "mtkahypar_quality" else mtkahypar.PresetType.DEFAULT
        context = library.context_from_preset(preset)
        nets = graph.endswith(".hgr")
        context.set_partitioning_parameters(k, EPSILON, mtkahypar.Objective.KM1 if nets else mtkahypar.Objective.CUT)
        mtkahypar.set_seed(seed)
        if nets:
            read = library.hypergraph_from_file(graph, context, mtkahypar.FileFormat.HMETIS)
        else:
            read = library.graph_from_file(graph, context, mtkahypar.FileFormat.METIS)
        started, clock = time.process_time(), time.monotonic()
        block_of = read.partition(context).get_partition()
    cost = {"partition_cpu_s": time.process_time() - started, "partition_wall_s": time.monotonic() - clock}
    with open(out, "w") as file:
        file.writelines(f"{block}\n" for block in block_of)
    print(json.dumps(cost))


# ---------------------------------------------------------------- tables


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def seconds(row):
    # Scotch tells wall seconds only: here it counts with reading and writing.
    return float(row["partition_cpu_s"] or row["process_cpu_s"])


class Results:
    """Rows by graph, k, seed, tool, number of threads."""

    def __init__(self, rows):
        self.rows = {(r["graph"], r["k"], r["seed"], r["tool"], r["threads"]): r for r in rows if r["cut"]}
        self.failed = [r for r in rows if not r["cut"]]

    def row(self, graph, k, seed, tool, threads="1"):
        return self.rows.get((graph, k, "1" if tool in SEEDLESS else seed, tool, threads))

    def cells(self):
        return sorted({key[:3] for key in self.rows if key[3] == REFERENCE and key[4] == "1"})

    def is_possible(self, cell):
        """Whether some tool found a feasible partition: some ops of training steps are heavier than a block may be."""
        feasible = {key[:2] for key, row in self.rows.items() if row["feasible"] == "yes"}
        return cell[:2] in feasible

    def graphs(self):
        there = {key[0] for key in self.rows}
        return [graph for graph in GRAPHS if graph in there]

    def mean_ratio(self, tool, to, value, graphs):
        """The geometric mean over the graphs of their geometric means, so that all graphs count alike."""
        each = [list(self.ratios(tool, to, value, graph)) for graph in graphs]
        return geometric_mean(geometric_mean(ratios) for ratios in each if ratios)

    def ratios(self, tool, to, value, graph):
        """Ratios of a tool to another where both have an answer. An empty cut counts as one edge more on both sides."""
        for cell in self.cells():
            if not self.is_possible(cell):
                continue
            mine, other = self.row(*cell, tool), self.row(*cell, to)
            if mine and other and graph == cell[0]:
                yield value(mine) / value(other)


def cut(row):
    return int(row["cut"]) + 1


def time_of(row):
    # gpmetis tells milliseconds.
    return max(seconds(row), 0.001)


def memory(row):
    return float(row["peak_mb"])


def table(results, to, tools):
    head = f"cut ÷ {to}'s / seconds ÷ {to}'s / MB ÷ {to}'s"
    lines = [f"| {head} | " + " | ".join(tools) + " |", "|---" * (len(tools) + 1) + "|"]
    for graph in [*results.graphs(), None]:
        cells = []
        for tool in tools:
            graphs = results.graphs() if graph is None else [graph]
            means = [results.mean_ratio(tool, to, value, graphs) for value in (cut, time_of, memory)]
            text = " / ".join(f"{mean:.{digits}f}" for mean, digits in zip(means, (3, 2, 2)))
            cells.append("–" if math.isnan(means[0]) else text)
        lines.append(f"| {graph or '**all**'} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def absolute(results, tools):
    lines = ["| mean cut / seconds / MB | " + " | ".join(tools) + " |", "|---" * (len(tools) + 1) + "|"]
    for graph in results.graphs():
        for k in sorted({cell[1] for cell in results.cells() if cell[0] == graph}, key=int):
            cells = []
            for tool in tools:
                rows = [results.row(*cell, tool) for cell in results.cells() if cell[:2] == (graph, k)]
                rows = [row for row in rows if row]
                if not rows:
                    cells.append("–")
                    continue
                mark = "‡" if not results.is_possible((graph, k)) else "†" if any(row["feasible"] == "no" for row in rows) else ""
                size = geometric_mean(map(cut, rows)) - 1
                cells.append(f"{size:,.0f}{mark} / {geometric_mean(map(time_of, rows)):.2f} / {geometric_mean(map(memory, rows)):.0f}")
            lines.append(f"| {graph}, {k} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def infeasible(results):
    lines = []
    for tool in TOOLS:
        rows = [row for key, row in results.rows.items() if key[3] == tool and key[4] == "1"]
        bad = [row for row in rows if row["feasible"] == "no" and results.is_possible((row["graph"], row["k"]))]
        if bad:
            worst = max(bad, key=lambda row: float(row["imbalance"]))
            lines.append(f"- {tool}: {len(bad)} of {len(rows)}, worst {worst['imbalance']} ({worst['graph']}, k = {worst['k']})")
    lines += [f"- {r['tool']} failed: {r['graph']}, k = {r['k']}, seed {r['seed']}: {r['note']}" for r in results.failed]
    return "\n".join(lines) or "- none"


def verdicts(results):
    """The figures to reach, and what was reached."""
    lines = ["| figure | wanted | reached |", "|---|---|---|"]

    def line(text, wanted, tool, to, value, graphs=results.graphs()):
        mean = results.mean_ratio(tool, to, value, graphs)
        if not math.isnan(mean):
            lines.append(f"| {text} | {wanted} | {mean:.3f} |")

    for tool, to, most_cut, most_time in [
        ("fast", "metis", 1.03, 0.7), ("default", "metis", 0.97, 1.5), ("quality", "mtkahypar", 1.01, 1.0),
    ]:
        line(f"`{tool}`: cut ÷ {to}'s", f"≤ {most_cut}", tool, to, cut)
        line(f"`{tool}`: seconds ÷ {to}'s", f"≤ {most_time}", tool, to, time_of)
    for tool in ("fast", "default", "quality"):
        most = [(results.mean_ratio(tool, "metis", memory, [graph]), graph) for graph in results.graphs()]
        most = [pair for pair in most if not math.isnan(pair[0])]
        if most:
            worst = max(most)
            line(f"`{tool}`: MB ÷ metis's", "≤ 1", tool, "metis", memory)
            lines.append(f"| `{tool}`: MB ÷ metis's, worst graph | ≤ 1 | {worst[0]:.3f} ({worst[1]}) |")
    slabs = [ratio for graph in LEVELED for ratio in results.ratios("quality", "level_slabs", cut, graph)]
    if slabs:
        lines.append(f"| `quality`: cut ÷ level_slabs', worst run on leveled graphs | ≤ 1 | {max(slabs):.3f} |")
    for tool in ("default", "quality"):
        line(f"`{tool}`, acyclic: cut ÷ undirected, leveled graphs", "≤ 1.03",
             f"{tool}_acyclic", tool, cut, LEVELED)
    pairs = {}
    for key, two in sorted(results.rows.items()):
        one = results.row(*key[:4])
        if key[4] == "2" and one:
            pairs.setdefault((key[3], key[0]), []).append((one, two))
    for (tool, graph), runs in pairs.items():
        by_k = {}
        for one, two in runs:
            by_k.setdefault(one["k"], []).append(float(one["partition_wall_s"]) / float(two["partition_wall_s"]))
        # The median of the seeds, since a run that something disturbs is far off.
        speeds = [statistics.median(ratios) for ratios in by_k.values()]
        mean = math.exp(sum(map(math.log, speeds)) / len(speeds))
        same = "the same partitions" if all(one["sha256"] == two["sha256"] for one, two in runs) else "OTHER PARTITIONS"
        lines.append(f"| `{tool}` on {graph}: wall seconds, 1 thread ÷ 2 threads | ≥ 1.6 | "
                     f"{mean:.2f} ({min(speeds):.2f} to {max(speeds):.2f}), {same} |")
    return "\n".join(lines)


def report(rows):
    results = Results(rows)
    there = {key[3] for key in results.rows}
    tools = [tool for tool in TOOLS if tool in there]
    shown = [tool for tool in tools if tool not in ACYCLIC]
    return "\n\n".join([
        "## Figures", verdicts(results),
        "## Ratios", table(results, REFERENCE, [tool for tool in shown if tool != REFERENCE]),
        table(results, "mtkahypar", ["quality"]),
        "## All", absolute(results, tools),
        "## Infeasible (†) where another tool's partition is feasible, and failed; ‡: no tool has a feasible one", infeasible(results),
    ]) + "\n"


# ---------------------------------------------------------------- the command


def read_rows(path):
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def append_row(path, fields, row):
    is_new = not path.exists()
    with open(path, "a", newline="") as file:
        writer = csv.DictWriter(file, fields)
        if is_new:
            writer.writeheader()
        writer.writerow(row)
    print(*row.values(), file=sys.stderr)


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "--drive":
        drive(*sys.argv[2:])
        return
    if len(sys.argv) > 1 and sys.argv[1] == "--plain":
        plain(*sys.argv[2:])
        return
    here = Path(__file__).resolve().parent

    def names(text):
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=names, default=list(GRAPHS), help="default: all")
    parser.add_argument("--k", type=names, help="default: 2,8,32,128, and 4,16 with --families")
    parser.add_argument("--seeds", type=names, help="default: 1,2,3, and 1 with --families")
    parser.add_argument("--families", action="store_true", help="graphs and hypergraphs of instances.py, with Mt-KaHyPar")
    parser.add_argument("--tools", type=names, default=TOOLS, help="default: all")
    parser.add_argument("--threads", type=names, default=["1"], help="tools other than placebench's always run on one")
    release = here.parents[1] / "target/release"
    parser.add_argument("--placebench", default=release / "placebench", help="makes, partitions and judges graphs")
    parser.add_argument("--python", default=sys.executable, help="that has kaminpar and mtkahypar")
    parser.add_argument("--work", type=Path, default=Path("partitioners.tmp"), help="folder of the generated graphs")
    parser.add_argument("--out", type=Path, help="results; runs that are there are not repeated "
                        "[default: results.csv, families.csv with --families]")
    parser.add_argument("--limit", type=float, default=600, help="seconds that a run may take")
    parser.add_argument("--report", action="store_true", help="runs nothing")
    options = parser.parse_args()
    for given, known in [(options.graphs, GRAPHS), (options.tools, TOOLS)]:
        for name in given:
            if name not in known:
                parser.error(f"'{name}' is none of {', '.join(known)}")
    options.out = options.out or here / ("families.csv" if options.families else "results.csv")
    if not options.report:
        options.work.mkdir(parents=True, exist_ok=True)
    if options.families:
        # It imports this file.
        import families

        if not options.report:
            families.run_all(options)
        print(families.report(read_rows(options.out)))
        return
    options.k = options.k or ["2", "8", "32", "128"]
    options.seeds = options.seeds or ["1", "2", "3"]
    if not options.report:
        run_all(options)
    rows = read_rows(options.out)
    print(report([row for row in rows if row["graph"] in options.graphs and row["k"] in options.k]))


def run_all(options):
    done = {tuple(row[field] for field in FIELDS[:5]) for row in read_rows(options.out)}
    is_new = not options.out.exists()
    with open(options.out, "a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if is_new:
            writer.writeheader()
        for name in options.graphs:
            graph = make(name, options)
            for k in options.k:
                for seed in options.seeds:
                    for tool in options.tools:
                        for threads in options.threads:
                            if (threads != "1" and tool not in OURS) or (tool in SEEDLESS and seed != "1"):
                                continue
                            if tool in ACYCLIC and name not in LEVELED:
                                continue
                            key = (name, k, seed, tool, threads)
                            if key in done:
                                continue
                            row = dict(zip(FIELDS, key))
                            out = options.work / f"{os.getpid()}.part"
                            try:
                                row.update(run(tool, graph, k, seed, threads, out, options))
                                row.update({f: v for f, v in judged(graph, k, out, options).items() if f in FIELDS})
                            except Failed as error:
                                row = {**dict(zip(FIELDS, key)), "note": str(error)}
                            row = {f: f"{v:.4f}" if isinstance(v, float) else v for f, v in row.items()}
                            writer.writerow(row)
                            file.flush()
                            print(*key, row.get("cut"), row.get("feasible"), row.get("partition_cpu_s"), row.get("peak_mb"), row.get("note", ""), file=sys.stderr)


if __name__ == "__main__":
    main()
