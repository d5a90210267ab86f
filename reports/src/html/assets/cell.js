// The page of a cell: all that is known of it, the command that repeats it, its timeline.

// What each network model predicts for a measured cell.
const PREDICTED = Object.keys(COLUMNS).filter((name) => name.startsWith("predict"));

const GROUPS = [
  ["Makespan", ["makespan", "relative", "period", "bottleneck", "slr", "gap", "lower_bound", "bound", "speedup", "efficiency", "planned_makespan"]],
  ["Measured, and predicted", ["makespan_least", "makespan_largest", ...PREDICTED, "time_scale", "warm_ups", "repetitions", "hardware", "execution", "other_load"]],
  ["Communication", ["traffic_bytes", "transfers", "cut_bytes", "cut_edges"]],
  ["Devices", ["devices", "devices_used", "utilization", "load_imbalance", "idle_time", "peak_memory_bytes", "executable_mean"]],
  ["Problem", ["graph", "ops", "edges", "cluster", "kinds", "memory", "network", "executor", "placer", "placer_spec", "scheduler", "repetition", "seed"]],
  ["Running it", ["place_seconds", "simulate_seconds", "peak_rss_bytes", "host", "processor", "commit", "repaired", "assumptions_broken"]],
];
// Told elsewhere on the page.
const UNLISTED = ["suite", "status", "error", "time_unit"];

const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const sameBut = (row, free) =>
  ["graph", "cluster", "placer", "scheduler", "network", "executor", "repetition"].filter((name) => !free.includes(name));

// Rows that differ from a row in these columns only.
function siblings(row, ...free) {
  const fixed = sameBut(row, free);
  const like = (other) => fixed.every((name) => COLUMNS[name][other] === COLUMNS[name][row]);
  return Array.from({ length: ROWS }, (_, other) => other).filter(like);
}

function cellPage(row, order) {
  const title = `${COLUMNS.placer[row]} on ${COLUMNS.graph[row]}`;
  const at = order.indexOf(row);
  const step = (to, label) => (at >= 0 && to in order ? cellLink(order[to], label) : el("span", { class: "off" }, label));
  return [
    el(
      "nav",
      { class: "steps", "aria-label": "Cells" },
      el("a", { href: "#cells", id: "to-table" }, "All cells"),
      step(at - 1, "← Previous"),
      step(at + 1, "Next →"),
    ),
    el("h1", { tabindex: "-1" }, title),
    el("p", { class: "lead" }, subtitle(row)),
    isOk(row)
      ? el("p", { class: "counts" }, standing(row))
      : el("p", { class: "failure" }, el("strong", {}, COLUMNS.status[row]), `: ${COLUMNS.error[row] ?? "no reason given"}`),
    commandBlock(row),
    timelineBlock(row),
    valueGroups(row),
    siblingBlock(row),
  ];
}

function subtitle(row) {
  const parts = [
    `cluster ${COLUMNS.cluster[row]}`,
    `scheduler ${COLUMNS.scheduler[row]}`,
    `network ${COLUMNS.network[row]}`,
    ...(isMeasured(row) ? [`executed by ${COLUMNS.executor[row]}`] : []),
    `repetition ${COLUMNS.repetition[row]}`,
  ];
  return parts.join(" · ");
}

// Where the cell stands among the placers of its scenario, each with its best scheduler.
function standing(row) {
  const best = new Map();
  for (const other of SCENARIOS.get(scenarioOf(row))) {
    const value = COLUMNS[GOAL][other];
    if (value !== null) best.set(COLUMNS.placer[other], Math.min(best.get(COLUMNS.placer[other]) ?? Infinity, value));
  }
  best.set(COLUMNS.placer[row], COLUMNS[GOAL][row]);
  const rank = 1 + [...best.values()].filter((value) => value < COLUMNS[GOAL][row]).length;
  const first = SCENARIOS.get(scenarioOf(row)).find((other) => COLUMNS.relative[other] === 1);
  const value = timeText(COLUMNS[GOAL][row], COLUMNS.time_unit[row], 4, true);
  const head = `${GOAL === "period" ? "Period" : "Makespan"} ${value}, rank ${rank} of ${best.size} placers here`;
  if (first === row || COLUMNS.relative[row] === 1) return [`${head}: none is better.`];
  return [
    `${head}; the best is `,
    cellLink(first, COLUMNS.placer[first]),
    ` (${timeText(COLUMNS[GOAL][first], COLUMNS.time_unit[first], 4, true)}).`,
  ];
}

function commandBlock(row) {
  const command = commandOf(row);
  if (command === null) return el("p", { class: "note" }, "No command repeats this cell: the suite as it stands does not have it.");
  const code = el("code", { id: "command" }, command);
  const button = el("button", { type: "button", onclick: () => copy(code, button) }, "Copy");
  return el("div", { class: "command" }, el("pre", { tabindex: "0", "aria-label": "The command that repeats this cell" }, code), button);
}

async function copy(node, button) {
  try {
    await navigator.clipboard.writeText(node.textContent);
    button.textContent = "Copied";
  } catch {
    // A page from disk may not be allowed to: then the text is selected, ready for the keys.
    getSelection().selectAllChildren(node);
    button.textContent = "Selected: press Ctrl+C";
  }
}

function valueGroups(row) {
  const known = new Set([...UNLISTED, ...GROUPS.flatMap(([, names]) => names)]);
  const others = [...ABOUT.keys()].filter((name) => !known.has(name));
  const groups = [...GROUPS, ["Other", others]].map(([title, names]) => {
    const lines = names
      .filter((name) => ABOUT.has(name) && text(name, row) !== "")
      .map((name) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, ABOUT.get(name).header),
          el("td", { class: "value", "data-column": name }, text(name, row, true)),
          el("td", { class: "meaning" }, ABOUT.get(name).meaning),
        ),
      );
    return lines.length ? el("section", {}, el("h2", {}, title), el("table", { class: "values" }, el("tbody", {}, lines))) : null;
  });
  return [el("div", { class: "groups" }, groups)];
}

// The same cell under other schedulers, in other repetitions, under other network models and by other executors.
function siblingBlock(row) {
  const list = (title, column, rows) => {
    if (rows.length < 2) return null;
    const item = (other) => {
      const label = [`${COLUMNS[column][other]} `, el("span", { class: "number" }, isOk(other) ? text("makespan", other) : COLUMNS.status[other])];
      return el("li", {}, other === row ? el("b", {}, label) : cellLink(other, label));
    };
    return el("section", {}, el("h2", {}, title), el("ul", { class: "siblings" }, rows.map(item)));
  };
  return [
    list("Under the other schedulers", "scheduler", siblings(row, "scheduler")),
    list("In the other repetitions", "repetition", siblings(row, "repetition")),
    list("Under the other network models", "network", siblings(row, "network")),
    list("By the other executors", "executor", siblings(row, "executor")),
  ];
}

// "a12zz3" → runs of [level from 0 to 1, first bin, bins].
function runs(strip) {
  const list = [];
  let bin = 0;
  for (const [, letter, count] of strip.matchAll(/([a-z])(\d*)/g)) {
    const length = count === "" ? 1 : Number(count);
    list.push([(letter.charCodeAt(0) - 97) / 25, bin, length]);
    bin += length;
  }
  return list;
}

function stripGraphic(strip, bins, describe, className) {
  const rects = runs(strip)
    .filter(([level]) => level > 0)
    .map(([level, first, length]) =>
      svg(
        "rect",
        { x: first, y: 0, width: length, height: 1, "fill-opacity": (0.12 + 0.88 * level).toFixed(2) },
        svg("title", {}, describe(level, first, length)),
      ),
    );
  return svg(
    "svg",
    { viewBox: `0 0 ${bins} 1`, preserveAspectRatio: "none", class: `strip ${className}`, "aria-hidden": "true" },
    ...rects,
  );
}

// A measured cell has two timelines over one axis: what was measured, and what is predicted for the same order.
function timelineBlock(row) {
  const timeline = DATA.timelines[row];
  if (!timeline) return missingTimeline(row);
  const unit = COLUMNS.time_unit[row];
  if (!timeline.measured) {
    return el("section", { class: "timeline" }, el("h2", {}, "Timeline"), strips(timeline, COLUMNS.makespan[row], unit), topOps(timeline, unit));
  }
  return el(
    "section",
    { class: "timeline" },
    el("h2", {}, "Timeline, measured"),
    strips(timeline.measured, timeline.span, unit),
    el("h2", {}, `Timeline, predicted by ${COLUMNS.network[row]} for the same placement and order`),
    strips(timeline.predicted, timeline.span, unit),
    el("p", { class: "note" }, "What is measured is one repetition, or a step that was traced, which takes longer than others."),
    topOps(timeline.measured, unit),
  );
}

// What each device did from 0 to a span of time, as a table.
function strips(timeline, length, unit) {
  const at = (bin) => timeText((bin / timeline.bins) * length, unit, 3, true);
  const span = (first, length) => `${at(first)} to ${at(first + length)}`;
  const percent = (share) => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)}\u202f%`;
  const lines = timeline.devices.map(([name, kind, busy, ops, strip]) => {
    const describe = (level, first, length) => `${name}, ${span(first, length)}: busy ${percent(level)}`;
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, name, el("span", { class: "kind" }, ` ${kind}`)),
      el("td", { class: "wide" }, stripGraphic(strip, timeline.bins, describe, "busy")),
      el("td", { class: "number" }, percent(busy)),
      el("td", { class: "number" }, grouped(String(ops))),
    );
  });
  const [most, moving] = timeline.moving;
  if (most > 0) {
    const describe = (level, first, length) => `${span(first, length)}: ${significant(level * most, 2)} tensors under way`;
    lines.push(
      el(
        "tr",
        { class: "moving" },
        el("th", { scope: "row" }, "transfers"),
        el("td", { class: "wide" }, stripGraphic(moving, timeline.bins, describe, "moving")),
        el("td", { class: "note", colspan: "2" }, `≤ ${significant(most, 2)} at once`),
      ),
    );
  }
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => el("span", {}, at(share * timeline.bins)));
  const axis = el("tr", { class: "axis", "aria-hidden": "true" }, el("td"), el("td", { class: "wide" }, el("div", {}, ticks)), el("td"), el("td"));
  const head = el(
    "tr",
    {},
    el("th", { scope: "col" }, "device"),
    el("th", { scope: "col" }, "time"),
    el("th", { scope: "col", class: "number" }, "busy"),
    el("th", { scope: "col", class: "number" }, "ops"),
  );
  const hidden = timeline.of - timeline.devices.length;
  return [
    el("table", {}, el("thead", {}, head), el("tbody", {}, lines, axis)),
    hidden > 0 ? el("p", { class: "note" }, `The busiest ${timeline.devices.length} of ${timeline.of} devices.`) : null,
  ];
}

function topOps(timeline, unit) {
  if (!timeline.top.length) return null;
  const line = ([name, type, device, start, time]) =>
    el(
      "tr",
      {},
      el("td", { class: "number" }, timeText(time, unit, 3, true)),
      el("td", { class: "number" }, timeText(start, unit, 3, true)),
      el("td", {}, device),
      el("td", { class: "name" }, name, type && type !== name ? el("span", { class: "kind" }, ` ${type}`) : null),
    );
  const head = [["takes", "number"], ["starts at", "number"], ["device", null], ["op", null]];
  return el(
    "details",
    { open: true },
    el("summary", {}, "The ops that take longest"),
    el("div", { class: "scroll" }, el(
      "table",
      { class: "grid" },
      el("thead", {}, el("tr", {}, head.map(([label, name]) => el("th", { scope: "col", class: name }, label)))),
      el("tbody", {}, timeline.top.map(line)),
    )),
  );
}

// Why there is none, and which cell of the same placer has one.
function missingTimeline(row) {
  if (!isOk(row)) return null;
  if (DATA.refused[row]) return el("p", { class: "note" }, `No timeline: ${DATA.refused[row]}.`);
  const near = siblings(row, "scheduler", "repetition").find((other) => DATA.timelines[other]);
  return el(
    "p",
    { class: "note" },
    "No timeline was made of this cell; the command above with --trace FILE writes one for a trace viewer. ",
    near === undefined
      ? null
      : ["There is one ", cellLink(near, `under ${COLUMNS.scheduler[near]}, repetition ${COLUMNS.repetition[near]}`), "."],
  );
}
