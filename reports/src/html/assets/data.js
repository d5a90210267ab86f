// The rows, as the report carries them: see columns.rs for the coding.

const DATA = JSON.parse(document.getElementById("data").textContent);
const ROWS = DATA.rows;

// What the cells were placed for, and so are compared by: the column makespan or period.
const GOAL = DATA.summary.metric === "period" ? "period" : "makespan";

// Name, content (what the values are), header and meaning of each column, in the order of the table.
const ABOUT = new Map();
for (const [name, content, header, meaning] of DATA.about) {
  ABOUT.set(name, { name, content, header, meaning });
  if (name === "makespan") {
    ABOUT.set("relative", {
      name: "relative",
      content: "ratio",
      header: "× best",
      meaning: `${GOAL} / the least of its graph, cluster, rules, network model, executor, repetition and numbering`,
    });
  }
}

function decode(column) {
  if (Array.isArray(column)) return column;
  if ("c" in column) return new Array(ROWS).fill(column.c);
  return column.i.map((index) => column.d[index]);
}

const COLUMNS = {};
for (const name in DATA.columns) COLUMNS[name] = decode(DATA.columns[name]);

// Whether something else than the simulator executed a cell.
const isMeasured = (row) => COLUMNS.executor[row] !== "simulate";

// What makes values comparable: rows that differ only in placer and scheduler.
const scenarioOf = (row) =>
  JSON.stringify(
    ["graph", "cluster", "kinds", "memory", "network", "executor", "repetition", "numbering"].map((name) => COLUMNS[name]?.[row]),
  );

const SCENARIOS = new Map();
for (let row = 0; row < ROWS; row++) {
  const key = scenarioOf(row);
  if (!SCENARIOS.has(key)) SCENARIOS.set(key, []);
  SCENARIOS.get(key).push(row);
}

COLUMNS.relative = new Array(ROWS).fill(null);
for (const rows of SCENARIOS.values()) {
  const values = rows.map((row) => COLUMNS[GOAL][row]).filter((value) => value !== null);
  const best = Math.min(...values);
  for (const row of rows) {
    const value = COLUMNS[GOAL][row];
    // Two values of 0, as of a graph without work, are equally good.
    if (value !== null) COLUMNS.relative[row] = value === best ? 1 : value / best;
  }
}

const isOk = (row) => COLUMNS.status[row] === "ok";

function distinct(name) {
  return [...new Set(COLUMNS[name])].filter((value) => value !== null);
}

// Numbers for people: three significant digits, or as many as the caller wants; with a power of ten far from 1.

function significant(value, digits = 3) {
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  if (magnitude < -4 || magnitude >= 15) return value.toExponential(digits - 1);
  return grouped(value.toFixed(Math.max(digits - 1 - magnitude, 0)));
}

// Groups of three digits, apart by a narrow space, where there are five or more.
function grouped(text) {
  const [whole, fraction] = text.split(".");
  const apart = whole.replace("-", "").length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
  return fraction === undefined ? apart : `${apart}.${fraction}`;
}

function prefixed(value, steps, digits) {
  const size = Math.abs(value);
  const [scale, unit] = steps.find(([scale]) => size >= scale) ?? steps[steps.length - 1];
  return `${significant(value / scale, digits)}\u202f${unit}`;
}

const SECONDS = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
const BYTES = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];

const secondsText = (value, digits) => (value === 0 ? "0\u202fs" : prefixed(value, SECONDS, digits));
const bytesText = (value, digits) => (value === 0 ? "0\u202fB" : prefixed(value, BYTES, digits));
// Simulated time: in seconds or in a unit of the graph's own, which is named only where there is room.
const timeText = (value, unit, digits, named) =>
  unit === "seconds" ? secondsText(value, digits) : significant(value, digits) + (named ? `\u202f${unit}` : "");

// The value of a row in a column; "" if it has none. On a cell's page there is room for more digits and for units.
function text(name, row, full = false) {
  const value = COLUMNS[name][row];
  if (value === null || value === undefined) return "";
  switch (ABOUT.get(name).content) {
    case "time":
      return timeText(value, COLUMNS.time_unit[row], full ? 6 : 4, full);
    case "bytes":
      return full && value >= 1000
        ? `${bytesText(value, 4)} (${grouped(String(value))}\u202fB)`
        : bytesText(value);
    case "seconds":
      return secondsText(value);
    case "share":
      return `${(value * 100).toFixed(1)}\u202f%`;
    case "ratio":
      return full ? significant(value, 6) : value < 99.995 ? value.toFixed(name === "relative" ? 3 : 2) : significant(value);
    case "count":
      return grouped(String(value));
    default:
      return String(value);
  }
}

const isNumeric = (name) => ABOUT.get(name).content !== "text";

// The command that repeats a cell; null if the suite as it stands does not have it.
function commandOf(row) {
  const { commands } = DATA;
  if (!commands) return null;
  const parts = [["graphs", "graph"], ["clusters", "cluster"], ["placers", "placer"]].map(([list, column]) =>
    commands[list].find((argument) => argument.name === COLUMNS[column][row]),
  );
  if (parts.includes(undefined)) return null;
  const chooses = COLUMNS.scheduler[row] === "chosen" && commands.chooses_among_some;
  const alone = parts.every((part) => part.alone !== null) && !chooses;
  const words = alone ? parts.map((part) => part.alone) : [...parts.map((part) => part.in_run), commands.run];
  const noise = /^noise\((.*)\)$/.exec(COLUMNS.executor[row]);
  const late = COLUMNS.status[row] === "timed_out" && commands.time_limit !== null;
  return [
    isMeasured(row) && !noise ? `placebench execute --executor ${shellWord(COLUMNS.executor[row])}` : "placebench place",
    ...words,
    `--scheduler ${shellWord(COLUMNS.scheduler[row])}`,
    `--network ${shellWord(COLUMNS.network[row])}`,
    `--seed ${COLUMNS.seed[row]}`,
    ...(alone && commands.objective ? [`--objective ${commands.objective}`] : []),
    ...(COLUMNS.numbering?.[row] > 0 ? [`--numberings ${COLUMNS.numbering[row] + 1}`] : []),
    ...(noise ? [`--noise ${shellWord(noise[1])}`] : []),
    ...(late ? [`--time-limit ${commands.time_limit}`] : []),
  ].join(" ");
}

const shellWord = (word) => (/^[\w.,:/@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);

// Makes an element. Texts become text nodes: nothing that a user wrote is ever parsed as markup.
function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

const cellLink = (row, label) => el("a", { href: `#cell=${row}` }, label);
