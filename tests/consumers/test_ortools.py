"""CP-SAT, an exact solver of constraint programs, schedules small graphs, too: `sweep` is as good in far less work.

PLACEBENCH names the command. Without OR-tools the test is skipped, with the reason.
"""

import json
import math
import os
import pathlib
import subprocess
import tempfile
import unittest

try:
    from ortools.sat.python import cp_model
except ImportError:
    cp_model = None

COMMAND = os.environ.get("PLACEBENCH", "target/release/placebench")
SPEEDS = [20, 40, 60, 80]
RATE = 40
# So many units make 1 EU, so that all times are whole numbers.
UNITS = 240
GRAPHS = [
    "erdos_renyi(nodes=20,probability=0.15,ccr=2)",
    "layered(nodes=30,layers=6,probability=0.15,ccr=1)",
    "random_orders(nodes=40,orders=3,ccr=1)",
    "series_parallel(nodes=50,ccr=2)",
    "gauss(size=8,ccr=1,bytes=uniform(1,100))",
    "fft(points=8,ccr=1)",
    "out_tree(nodes=60,ccr=2)",
    "erdos_renyi(nodes=60,probability=0.05,ccr=4)",
]
# Of deterministic time, CP-SAT's own measure of work: about a second of one thread, some twenty times what `sweep` takes.
WORK = 0.2


def run(*arguments):
    return subprocess.run([COMMAND, *arguments], check=True, capture_output=True, text=True, timeout=120).stdout


def cluster(folder):
    path = folder / "cluster.toml"
    devices = "".join(f'[[device]]\nname = "d{i}"\nkind = "CPU"\nspeed = {speed}\n' for i, speed in enumerate(SPEEDS))
    path.write_text(f"{devices}[link]\nrate = {RATE}\n")
    return path


def schedule(graph, work):
    """The least makespan that CP-SAT finds, in EU, and whether that is proven; infinite if it finds no schedule."""
    model = cp_model.CpModel()
    ops, edges = graph["nodes"], graph["edges"]
    horizon = sum(op["ops"] * UNITS // min(SPEEDS) for op in ops)
    starts, ends, on, rows = [], [], [], [[] for _ in SPEEDS]
    for number, op in enumerate(ops):
        start, end = (model.NewIntVar(0, horizon, f"{name}{number}") for name in ("start", "end"))
        here = [model.NewBoolVar(f"on{number}_{device}") for device in range(len(SPEEDS))]
        for device, speed in enumerate(SPEEDS):
            time = op["ops"] * UNITS // speed
            rows[device].append(model.NewOptionalIntervalVar(start, time, end, here[device], f"run{number}_{device}"))
        model.AddExactlyOne(here)
        starts.append(start), ends.append(end), on.append(here)
    for row in rows:
        model.AddNoOverlap(row)
    for number, edge in enumerate(edges):
        source, target = edge["source"], edge["target"]
        together = model.NewBoolVar(f"together{number}")
        for device in range(len(SPEEDS)):
            a, b = on[source][device], on[target][device]
            model.AddImplication(together, b).OnlyEnforceIf(a)
        model.Add(starts[target] >= ends[source])
        model.Add(starts[target] >= ends[source] + edge["bytes"] * UNITS // RATE).OnlyEnforceIf(together.Not())
    makespan = model.NewIntVar(0, horizon, "makespan")
    model.AddMaxEquality(makespan, ends)
    model.Minimize(makespan)
    solver = cp_model.CpSolver()
    solver.parameters.max_deterministic_time = work
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    status = solver.Solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return math.inf, False
    return solver.ObjectiveValue() / UNITS, status == cp_model.OPTIMAL


@unittest.skipUnless(cp_model, "needs OR-tools (PyPI: ortools)")
class SmallGraphs(unittest.TestCase):
    def test_sweep_is_as_good_as_cp_sat_with_more_work(self):
        ratios = []
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            machine = cluster(folder)
            for seed, spec in enumerate(GRAPHS):
                path = folder / f"{seed}.nx.json"
                run("generate", spec, "--seed", str(seed), "--out", str(path))
                answer = run("place", str(path), "--cluster", str(machine), "-p", "sweep", "--memory", "unlimited", "--json")
                row = json.loads(answer)["row"]
                found, is_proven = schedule(json.loads(path.read_text()), WORK)
                with self.subTest(graph=spec, sweep=row["makespan"], cp_sat=found):
                    self.assertFalse(is_proven and row["makespan"] < found * (1 - 1e-9), "less than the optimum")
                print(f"{spec}: sweep {row['makespan']:.4g}, CP-SAT {found:.4g}{' (optimal)' if is_proven else ''}")
                ratios.append(math.log(row["makespan"] / found) if found < math.inf else 0.0)
        mean = math.exp(sum(ratios) / len(ratios))
        self.assertLessEqual(mean, 1.01)


if __name__ == "__main__":
    unittest.main()
