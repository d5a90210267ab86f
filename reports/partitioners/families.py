"""The comparison with Mt-KaHyPar on families of graphs and hypergraphs: `compare.py --families`.

Every family of `instances.py` with the seeds that were open to tuning and those that were kept back, each as a graph
(judged by its cut) and as a hypergraph (judged by its connectivity).
"""

import compare
import instances

REFERENCE, QUALITY = "mtkahypar", "mtkahypar_quality"  # its presets default and quality
TOOLS = [REFERENCE, QUALITY, "fast", "default", "quality"]
COLUMNS = [("fast", REFERENCE), ("default", REFERENCE), ("quality", REFERENCE), ("quality", QUALITY)]
BLOCKS = ["4", "16"]
FIELDS = ["family", "instance_seed", "form", "k", "seed", "tool", "cost", "imbalance", "feasible", "cpu_s", "note"]
FORMS = {"graph": ".graph", "nets": ".hgr"}


def instance(family, seed, form, work):
    path = work / f"{family}-{seed}{FORMS[form]}"
    if not path.exists():
        made = instances.make(family, seed)
        made.write_hmetis(path) if form == "nets" else made.write_metis(path)
    return path


def measure(path, form, k, seed, tool, options):
    """The row of one run, without what names it."""
    out = options.work / "families.part"
    try:
        cost = compare.run(tool, path, k, seed, "1", out, options)
        judged = compare.judged(path, k, out, options)
    except compare.Failed as error:
        return {"note": str(error)}
    return {
        "cost": judged["connectivity" if form == "nets" else "cut"],
        "imbalance": f"{judged['imbalance']:.4f}",
        "feasible": judged["feasible"],
        "cpu_s": f"{cost['partition_cpu_s']:.4f}",
    }


def run_all(options):
    done = {tuple(row[field] for field in FIELDS[:6]) for row in compare.read_rows(options.out)}
    for family in instances.FAMILIES:
        for instance_seed in (*instances.OPEN, *instances.KEPT_BACK):
            for form in FORMS:
                path = instance(family, instance_seed, form, options.work)
                for k in options.k or BLOCKS:
                    for seed in options.seeds or ["1"]:
                        for tool in TOOLS:
                            key = (family, str(instance_seed), form, k, seed, tool)
                            if key not in done:
                                row = {**dict(zip(FIELDS, key)), **measure(path, form, k, seed, tool, options)}
                                compare.append_row(options.out, FIELDS, row)


def ratios(rows, tool, reference, form, seeds, family, value):
    """Ratios of a tool to another, where both have a feasible answer."""
    of = {(r["family"], r["instance_seed"], r["form"], r["k"], r["seed"], r["tool"]): r for r in rows if r["feasible"] == "yes"}
    for key, row in of.items():
        other = of.get((*key[:5], reference))
        if other and key[5] == tool and key[2] == form and int(key[1]) in seeds and key[0] == family:
            yield value(row) / value(other)


def cost(row):
    return int(row["cost"]) + 1


def seconds(row):
    return max(float(row["cpu_s"]), 0.001)


def table(rows, seeds):
    columns = [(form, tool, reference) for form in FORMS for tool, reference in COLUMNS]
    heads = [f"{form}: {tool}" + (" ÷ its quality" if reference == QUALITY else "") for form, tool, reference in columns]
    lines = ["| cost ÷ mtkahypar's / seconds ÷ mtkahypar's | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    means = {column: [] for column in columns}
    for family in instances.FAMILIES:
        cells = []
        for form, tool, reference in columns:
            pair = [compare.geometric_mean(ratios(rows, tool, reference, form, seeds, family, value)) for value in (cost, seconds)]
            means[form, tool, reference].append(pair)
            cells.append(f"{pair[0]:.3f} / {pair[1]:.2f}")
        lines.append(f"| {family} | " + " | ".join(cells) + " |")
    total = [[compare.geometric_mean(pair[at] for pair in means[column] if pair[at] == pair[at]) for at in (0, 1)] for column in columns]
    lines.append("| **all** | " + " | ".join(f"{pair[0]:.3f} / {pair[1]:.2f}" for pair in total) + " |")
    return "\n".join(lines)


def report(rows):
    bad = [r for r in rows if r["feasible"] != "yes"]
    faults = [f"- {r['tool']}: {r['family']} {r['instance_seed']}, {r['form']}, k = {r['k']}: {r['note'] or r['imbalance']}" for r in bad]
    return "\n\n".join([
        "## Seeds that were open", table(rows, instances.OPEN),
        "## Seeds that were kept back", table(rows, instances.KEPT_BACK),
        "## Infeasible or failed", "\n".join(faults) or "- none",
    ]) + "\n"
