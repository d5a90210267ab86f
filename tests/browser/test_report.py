"""The report in a headless Chromium: it loads without a complaint and from nowhere else, its tables filter and sort, its
cells have pages, by mouse and by keyboard, in light and in dark, on a wide and on a narrow screen.

    python3 -m unittest discover -s tests/browser

PLACEBENCH is the command [target/release/placebench], PLACEBENCH_RUN a finished run folder [runs/default-1], and
PLACEBENCH_SHOTS, if set, a folder for screenshots."""

import json
import os
import re
import pathlib
import subprocess
import tempfile
import unittest

from webdriver import Browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACEBENCH = os.environ.get("PLACEBENCH", str(ROOT / "target/release/placebench"))
RUN = pathlib.Path(os.environ.get("PLACEBENCH_RUN", ROOT / "runs/default-1")).resolve()
SHOTS = os.environ.get("PLACEBENCH_SHOTS")

HOSTILE = "</script><img src=x onerror=window.hurt=1>\"&'|"

# The small devices of a thesis have no room for a real training step; and the name tries to be markup.
FAILING = f"""
name = "failing"
placers = ["heft", "hashing", "single_device", "random"]
schedulers = ["pct", "fifo"]

[[graph]]
name = '''{HOSTILE}'''
catalogue = "nmt"

[[graph]]
catalogue = "convnet"
costs = "laich"

[[cluster]]
preset = "laich7"
"""


def placebench(*arguments, folder, check=True):
    return subprocess.run([PLACEBENCH, *arguments], cwd=folder, capture_output=True, text=True, check=check)


def rows_of(run):
    with open(run / "cells.jsonl") as lines:
        return [json.loads(line) for line in lines]


class Page(unittest.TestCase):
    """Tests that share a browser and a report."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="placebench-report-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.file = cls.folder / "report.html"
        cls.make_report()
        cls.url = cls.file.as_uri()
        cls.browser = cls.enterClassContext(Browser())

    def setUp(self):
        self.browser.open("about:blank")
        self.browser.resize(1400, 1000)
        self.media()
        self.go()
        self.browser.console()
        self.browser.requests()
        # Loaded again, now that all that is said is about this page.
        self.browser.run("localStorage.clear(); location.reload()")
        self.browser.wait("return document.readyState === 'complete' && typeof table === 'object'")

    def tearDown(self):
        self.assertEqual(self.browser.console(), [])
        asked = [url for url in self.browser.requests() if not url.startswith(("data:", "about:"))]
        self.assertEqual([url for url in asked if url.partition("#")[0] != self.url], [])

    def go(self, fragment=""):
        self.browser.open(self.url + fragment)

    def media(self, **features):
        features = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.browser.devtools("Emulation.setEmulatedMedia", media="", features=features)

    def shot(self, name, whole=True):
        if SHOTS:
            os.makedirs(SHOTS, exist_ok=True)
            self.browser.screenshot(os.path.join(SHOTS, f"{name}.png"), whole)

    def texts(self, selector):
        return self.browser.run("return [...document.querySelectorAll(arguments[0])].map((n) => n.textContent)", selector)

    def status(self):
        return self.texts("#status")[0].replace("\u202f", "")

    def column(self, name):
        """What the page shows of a column, as values of the data."""
        return self.browser.run(
            "return [...document.querySelectorAll('#rows tbody a')]"
            ".map((a) => COLUMNS[arguments[0]][Number(a.hash.split('=')[1])])",
            name,
        )

    def header(self, name):
        """A selector of the button that sorts by a column."""
        index = self.browser.run("return table.columns.indexOf(arguments[0])", name)
        return f"#rows thead th:nth-child({index + 1}) button"

    def assert_no_overflow(self):
        wide, window = self.browser.run("return [document.documentElement.scrollWidth, innerWidth]")
        self.assertLessEqual(wide, window)

    def assert_contrast(self):
        faint = self.browser.run(CONTRAST)
        self.assertEqual(faint, [])


# Every text on the page whose contrast with what is behind it is below 4.5 (WCAG 2.1, 1.4.3).
CONTRAST = """
const canvas = document.createElement("canvas");
canvas.width = canvas.height = 1;
const context = canvas.getContext("2d", { willReadFrequently: true });
const over = (colors) => {
  for (const color of colors) {
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
  }
  return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const luminance = (rgb) => {
  const [r, g, b] = rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const faint = new Set();
const seen = new Map();
for (const node of document.querySelectorAll("body *")) {
  const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  if (!own || node.disabled || node.closest("svg, script, option") || !node.checkVisibility()) continue;
  const layers = [];
  for (let up = node; up; up = up.parentElement) layers.unshift(getComputedStyle(up).backgroundColor);
  const color = getComputedStyle(node).color;
  const key = layers.join() + color;
  if (!seen.has(key)) {
    const [a, b] = [luminance(over(layers)), luminance(over([...layers, color]))];
    seen.set(key, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
  }
  if (seen.get(key) < 4.5) faint.add(`${seen.get(key).toFixed(2)} ${node.tagName}.${node.className} ${node.textContent.slice(0, 30)}`);
}
return [...faint];
"""


class DefaultRun(Page):
    """The report of a real run, in which a step does not fit into one GPU."""

    @classmethod
    def make_report(cls):
        placebench("report", str(RUN), "--out", str(cls.file), folder=RUN.parent.parent)
        cls.rows = rows_of(RUN)

    def test_it_loads_and_shows_every_row(self):
        self.assertEqual(self.status(), f"{len(self.rows)} cells")
        failed = any(row["status"] != "ok" for row in self.rows)
        self.assertEqual(self.browser.run("return document.getElementById('failures').hidden"), not failed)
        self.assertGreater(len(self.texts("#findings li")), 2)
        self.assertEqual(len(self.texts("#summary-grid tbody tr")), len({row["placer"] for row in self.rows}))
        self.assert_contrast()
        self.shot("light")

    def test_text_and_column_filters_narrow_and_live_in_the_address(self):
        graph = self.rows[0]["graph"]
        self.browser.type("#filter", "HEFT pct")
        matching = [r for r in self.rows if "heft" in " ".join(map(str, r.values())).lower() and r["scheduler"] == "pct"]
        self.browser.wait("return document.getElementById('status').textContent.includes(' of ')")
        self.assertTrue(self.status().startswith(f"{len(matching)} of {len(self.rows)}"), self.status())
        self.browser.run(
            "const s = table.selects.graph; s.value = arguments[0]; s.dispatchEvent(new Event('change'))", graph
        )
        both = [row for row in matching if row["graph"] == graph]
        self.assertTrue(self.status().startswith(f"{len(both)} of {len(self.rows)}"), self.status())
        self.assertEqual(set(self.column("graph")), {graph})
        # The same address shows the same rows.
        address = self.browser.run("return location.hash")
        self.browser.open("about:blank")
        self.go(address)
        self.assertTrue(self.status().startswith(f"{len(both)} of {len(self.rows)}"), self.status())
        self.browser.click("#clear")
        self.assertEqual(self.status(), f"{len(self.rows)} cells")
        self.browser.type("#filter", "nothing-is-called-this")
        self.assertTrue(self.browser.wait("return document.querySelectorAll('#rows tbody tr').length === 0"))

    def test_columns_sort_both_ways_by_mouse_and_by_keyboard(self):
        known = sorted(row["makespan"] for row in self.rows if row["makespan"] is not None)
        close = lambda values: [float(f"{value:.4g}") for value in values]
        self.browser.click(self.header("makespan"))
        shown = self.column("makespan")
        self.assertEqual(close(shown), close(known[: len(shown)]))
        sorted_by = "return document.querySelector(arguments[0]).closest('th').getAttribute('aria-sort')"
        self.assertEqual(self.browser.run(sorted_by, self.header("makespan")), "ascending")
        self.browser.press("Enter")
        self.assertEqual(close(self.column("makespan")), close(known[::-1][: len(shown)]))
        self.assertEqual(self.browser.run(sorted_by, self.header("makespan")), "descending")
        self.browser.press("Space")
        self.assertEqual(self.browser.run(sorted_by, self.header("makespan")), "none")
        self.assertEqual(self.column("graph")[0], self.rows[0]["graph"])
        self.browser.press("Tab")
        self.browser.press("Enter")
        self.assertEqual(self.browser.run(sorted_by, self.header("relative")), "ascending")
        self.browser.click("#summary-grid thead th:first-child button")
        names = self.texts("#summary-grid tbody th")
        self.assertEqual(names, sorted(names, key=str.lower))

    def test_placers_stand_by_their_mean_and_say_so(self):
        means = self.browser.run(
            "return DATA.summary.order.map((placer) => [DATA.summary.shown[placer], DATA.summary.mean[placer], DATA.summary.row[placer]])"
        )
        self.assertEqual(self.texts("#summary-grid tbody th"), [name for name, _, _ in means])
        failed = "return DATA.summary.ratio[arguments[0]].filter((ratio) => ratio === null).length"
        order = self.browser.run("return DATA.summary.order")
        keys = [(self.browser.run(failed, placer), mean) for placer, (_, mean, _) in zip(order, means)]
        self.assertEqual([failures for failures, _ in keys], sorted(failures for failures, _ in keys))
        self.assertEqual(self.texts("#summary-grid thead th[aria-sort=ascending] .label"), ["mean"])
        # As many stars as ratios of 1; where several share the best, each says so.
        stars = self.browser.run("return document.querySelectorAll('#summary-grid .best').length")
        ones = self.browser.run("return DATA.summary.ratio.flat().filter((ratio) => ratio === 1).length")
        self.assertEqual(stars, ones)
        self.browser.click("#summary-grid thead th:last-child button")
        self.assertEqual(self.texts("#summary-grid thead th[aria-sort=descending] .label"), ["mean"])

    def test_pages_turn(self):
        first = self.texts("#rows tbody tr:first-child")
        self.browser.click(".pager button:last-child")
        self.assertIn("Page 2 of", self.texts(".pager span")[0])
        self.assertNotEqual(self.texts("#rows tbody tr:first-child"), first)

    def test_a_cell_has_a_page_and_back_returns_to_the_same_rows(self):
        self.browser.type("#filter", "heft")
        self.browser.wait("return location.hash === '#q=heft'")
        status = self.status()
        self.browser.run("document.querySelector('#rows tbody a').focus()")
        self.browser.press("Enter")
        self.assertTrue(self.browser.wait("return !document.getElementById('cell').hidden"))
        self.assertTrue(self.browser.run("return document.getElementById('overview').hidden"))
        index = int(self.browser.run("return location.hash").split("=")[1])
        placer, graph = self.browser.run("return [COLUMNS.placer[arguments[0]], COLUMNS.graph[arguments[0]]]", index)
        self.assertEqual(self.texts("#cell h1"), [f"{placer} on {graph}"])
        values = self.texts("#cell .value")
        self.assertGreater(len(values), 25)
        self.browser.click(".steps a:nth-of-type(2)")
        self.browser.wait("return location.hash !== arguments[0]", f"#cell={index}")
        self.assertNotEqual(self.browser.run("return location.hash"), f"#cell={index}")
        self.browser.back()
        self.browser.back()
        self.assertTrue(self.browser.wait("return document.getElementById('cell').hidden"))
        self.assertEqual(self.status(), status)
        self.assertEqual(self.browser.run("return location.hash"), "#q=heft")

    def test_the_command_on_a_cells_page_repeats_it(self):
        row = self.browser.run("return COLUMNS.placer.findIndex((name) => name.startsWith('heft'))")
        self.go(f"#cell={row}")
        command = self.texts("#command")[0]
        directory = os.path.dirname(os.path.abspath(PLACEBENCH))
        environment = {**os.environ, "PATH": directory + os.pathsep + os.environ["PATH"]}
        output = subprocess.run(command, shell=True, cwd=RUN.parent.parent, env=environment, capture_output=True, text=True)
        said = next(line.split(None, 1)[1] for line in output.stdout.splitlines() if line.startswith("makespan"))
        shown = self.browser.run("return timeText(COLUMNS.makespan[arguments[0]], COLUMNS.time_unit[arguments[0]], 3, false)", row)
        self.assertEqual(shown.replace("\u202f", " "), said)

    def test_a_cell_with_a_timeline_draws_it(self):
        busiest = "return Object.keys(DATA.timelines).find((row) => DATA.timelines[row].devices.every((d) => d[2] > 0))"
        row = int(self.browser.run(busiest))
        self.go(f"#cell={row}")
        devices = self.browser.run("return COLUMNS.devices[arguments[0]]", row)
        strips = self.browser.run("return document.querySelectorAll('.strip.busy').length")
        self.assertEqual(strips, min(devices, 48))
        self.assertGreaterEqual(self.browser.run("return document.querySelectorAll('.strip rect').length"), devices)
        self.assert_contrast()
        self.shot("cell")

    def test_marks_of_figures_show_their_rows_and_lead_to_them(self):
        heat = ".figure[data-name^=heat]"
        self.browser.hover(f"{heat} .mark:nth-of-type(3)")
        self.assertTrue(self.browser.wait("return document.getElementById('tip').checkVisibility()"))
        key = self.browser.run("return document.querySelector(arguments[0]).dataset.key", f"{heat} .mark.current")
        graph, cluster, placer, scheduler = key.split("|")
        tip = self.texts("#tip")[0]
        for part in (graph, cluster, placer, scheduler, "makespan", "traffic"):
            self.assertIn(part, tip)
        makespan = next(
            row["makespan"]
            for row in self.rows
            if (row["graph"], row["cluster"], row["placer"], row["scheduler"]) == (graph, cluster, placer, scheduler)
        )
        shown = self.browser.run("return timeText(arguments[0], 'seconds', 4, false)", makespan)
        self.assertIn(shown, self.texts("#tip dd"))
        self.shot("figures", whole=False)
        self.browser.click(f"{heat} .mark:nth-of-type(3)")
        self.assertTrue(self.browser.wait("return document.querySelector('#cell h1')?.textContent === arguments[0]", f"{placer} on {graph}"))
        self.browser.back()
        # The same by the keyboard, the mouse out of the way: along the marks, and off them.
        self.browser.hover("#h-figures")
        self.browser.run("document.querySelector(arguments[0]).focus()", f"{heat} svg")
        for key in ("Right", "Right", "Right", "Left"):
            self.browser.press(key)
        self.assertTrue(self.browser.run("return document.getElementById('tip').checkVisibility()"))
        second = self.browser.run("return document.querySelectorAll(arguments[0])[1].classList.contains('current')", f"{heat} .mark")
        self.assertTrue(second)
        self.browser.press("Escape")
        self.assertFalse(self.browser.run("return document.getElementById('tip').checkVisibility()"))
        self.browser.press("Right")
        self.browser.press("Enter")
        self.assertTrue(self.browser.wait("return location.hash.startsWith('#cell=')"))

    def test_a_mark_of_a_placer_filters_the_table(self):
        # Marks of equal placers lie on each other; that of mite stands alone.
        self.browser.click(".figure[data-name^=pareto] .mark[data-key=mite]")
        placer = self.browser.run("return table.chosen.placer")
        self.assertEqual(set(self.column("placer")), {placer})

    def test_every_mark_stands_for_something(self):
        # A mean in the heat map stands for its placer, every other mark for a cell.
        lost = self.browser.run(
            "return [...document.querySelectorAll('.figure[data-name^=heat] .mark, .figure[data-name^=bars] .mark')]"
            ".filter((mark) => Object.keys(figures.meaning(mark)).length === 0).map((mark) => mark.dataset.key)"
        )
        self.assertEqual(lost, [])

    def test_dark_follows_the_system_and_the_button(self):
        paper = "return getComputedStyle(document.body).backgroundColor"
        light = self.browser.run(paper)
        self.media(prefers_color_scheme="dark")
        dark = self.browser.run(paper)
        self.assertNotEqual(light, dark)
        self.assert_contrast()
        self.shot("dark")
        self.browser.click("#theme")
        self.assertEqual(self.browser.run(paper), light)
        self.browser.click("#theme")
        self.assertEqual(self.browser.run(paper), dark)
        row = self.browser.run("return Object.keys(DATA.timelines)[0]")
        self.go(f"#cell={row}")
        self.assert_contrast()
        self.shot("cell-dark")

    def test_a_narrow_screen_scrolls_only_downwards(self):
        hints = "return [...document.querySelectorAll('.hint')].filter((hint) => hint.checkVisibility()).length"
        self.assertEqual(self.browser.run(hints), 0)
        self.browser.resize(360, 800)
        self.assert_no_overflow()
        # The summary, the figures and the cells go on to the right, and say so.
        self.assertTrue(self.browser.wait("return document.querySelectorAll('#figures > .hint').length > 2"))
        self.assertGreater(self.browser.run(hints), 4)
        self.shot("narrow")
        row = self.browser.run("return Object.keys(DATA.timelines)[0]")
        self.go(f"#cell={row}")
        self.assert_no_overflow()
        self.shot("cell-narrow")

    def test_the_first_tab_leads_past_the_header(self):
        self.browser.run("document.body.focus()")
        self.browser.press("Tab")
        self.assertEqual(self.browser.run("return document.activeElement.className"), "skip")
        self.browser.press("Enter")
        self.assertEqual(self.browser.run("return document.activeElement.id"), "main")

    def test_paper_gets_the_tables_without_their_controls(self):
        self.browser.run(
            "window.printed = 0; addEventListener('beforeprint',"
            " () => { window.printed = document.querySelectorAll('#rows tbody tr').length; })"
        )
        file = pathlib.Path(SHOTS or self.folder) / "print.pdf"
        file.parent.mkdir(parents=True, exist_ok=True)
        self.browser.print_to(file)
        self.assertGreater(file.stat().st_size, 20_000)
        self.assertEqual(self.browser.run("return window.printed"), min(len(self.rows), 1000))
        self.browser.devtools("Emulation.setEmulatedMedia", media="print")
        for control in (".filters", ".top", ".choice", "#theme"):
            self.assertFalse(self.browser.run("return document.querySelector(arguments[0]).checkVisibility()", control))


class FailingRun(Page):
    """A run with failures, and with names that try to be markup."""

    @classmethod
    def make_report(cls):
        (cls.folder / "failing.toml").write_text(FAILING)
        placebench("run", "failing.toml", "--quiet", folder=cls.folder)
        placebench("report", "runs/failing-1", "--out", "report.html", folder=cls.folder)
        cls.rows = rows_of(cls.folder / "runs/failing-1")

    def test_failures_come_first_by_message_with_their_commands(self):
        failed = [row for row in self.rows if row["status"] != "ok"]
        self.assertGreater(len(failed), 0)
        self.assertEqual(self.texts("#overview > section > h2")[0], "Failures")
        self.assertTrue(self.browser.run("return document.getElementById('failures').checkVisibility()"))
        # Messages that differ in numbers alone are one group.
        messages = {(row["status"], re.sub(r"\d[\d.]*", "#", row["error"])) for row in failed}
        self.assertEqual(len(self.texts(".failure-group")), len(messages))
        shown = {text.removeprefix("One of them: ") for text in self.texts(".failure-group > .failure")}
        self.assertLessEqual(shown, {row["error"] for row in failed})
        counts = [int(text.split()[0]) for text in self.texts(".badge")]
        self.assertEqual(sum(counts), len(failed))
        self.browser.click(".failure-group summary")
        self.browser.wait("return document.querySelector('.failed-cells li')")
        commands = self.texts(".failed-cells pre")
        self.assertEqual(len(commands), counts[0])
        for command in commands:
            directory = os.path.dirname(os.path.abspath(PLACEBENCH))
            environment = {**os.environ, "PATH": directory + os.pathsep + os.environ["PATH"]}
            output = subprocess.run(command, shell=True, cwd=self.folder, env=environment, capture_output=True, text=True)
            self.assertEqual(output.returncode, 1, command)
            self.assertTrue(any(row["error"] in output.stderr for row in failed), output.stderr)
        self.assert_contrast()
        self.shot("failures")
        self.browser.click(".failed-cells a")
        self.assertTrue(self.browser.wait("return document.querySelector('#cell .failure')"))
        self.shot("cell-failed")

    def test_names_stay_texts(self):
        self.assertIn(HOSTILE, self.column("graph"))
        self.assertIn(HOSTILE, self.texts("#summary-grid thead button")[1])
        self.assertIsNone(self.browser.run("return window.hurt"))
        self.browser.resize(360, 800)
        self.assert_no_overflow()


class LargeRun(Page):
    """Ten thousand rows."""

    @classmethod
    def make_report(cls):
        run = cls.folder / "large"
        run.mkdir()
        (run / "suite.toml").write_text("repetitions = 100\n" + (RUN / "suite.toml").read_text())
        (run / "environment.toml").write_text((RUN / "environment.toml").read_text())
        rows = [row for row in rows_of(RUN) if row["status"] == "ok"]
        with open(run / "cells.jsonl", "w") as lines:
            for number in range(10_000):
                row = dict(rows[number % len(rows)], repetition=number // len(rows))
                for name, value in row.items():
                    # No two rows alike in any measurement, as in a run whose repetitions are drawn.
                    if isinstance(value, float):
                        row[name] = value * (1 + number / 7e4)
                    elif name in ("traffic_bytes", "cut_bytes", "peak_memory_bytes"):
                        row[name] = value + number
                lines.write(json.dumps(row) + "\n")
        placebench("report", "large", "--out", "report.html", folder=cls.folder)

    def test_it_is_small_and_quick(self):
        self.assertLess(self.file.stat().st_size, 3 * 1024 * 1024)
        self.assertEqual(self.status(), "10000 cells")
        timed = """
            const start = performance.now();
            for (const step of [
              () => { table.query = "heft"; table.changed(); },
              () => { table.query = ""; table.changed(); },
              () => { table.sort = "makespan"; table.changed(); },
              () => { table.sort = "placer"; table.changed(); },
            ]) step();
            return (performance.now() - start) / 4;
        """
        # Some 20 ms here; a tenth of a second is what feels immediate, and machines of tests are busy.
        self.assertLess(self.browser.run(timed), 500)


# The base class has no report of its own.
def load_tests(loader, _standard, _pattern):
    return unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in (DefaultRun, FailingRun, LargeRun))


if __name__ == "__main__":
    unittest.main()
