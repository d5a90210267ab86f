// The sections that are drawn from the rows: failures, summary, figures.

// Failures of the same status and message are one entry, the most frequent first. Messages that differ in numbers alone
// are the same.
function drawFailures(place) {
  const groups = new Map();
  for (let row = 0; row < ROWS; row++) {
    if (isOk(row)) continue;
    const key = `${COLUMNS.status[row]}\n${messageOf(row).replace(/\d[\d.]*/g, "#")}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  const entries = [...groups].sort(([, a], [, b]) => b.length - a.length);
  place.append(...entries.map(([, rows]) => failureEntry(rows)));
  return entries.length > 0;
}

function messageOf(row) {
  return COLUMNS.error[row] ?? "no reason given";
}

function failureEntry(rows) {
  const status = COLUMNS.status[rows[0]];
  const messages = new Set(rows.map(messageOf));
  const message = `${messages.size > 1 ? "One of them: " : ""}${messageOf(rows[0])}`;
  const some = (name) => {
    const values = [...new Set(rows.map((row) => COLUMNS[name][row]))];
    return values.length > 3 ? `${values.length} ${name}s` : values.join(", ");
  };
  const item = (row) => {
    const command = commandOf(row);
    return el(
      "li",
      {},
      cellLink(row, `${COLUMNS.placer[row]} on ${COLUMNS.graph[row]}`),
      ` ${subtitle(row)}`,
      command === null ? null : el("pre", {}, el("code", {}, command)),
    );
  };
  const list = el("ol", { class: "failed-cells" });
  // Thousands of cells that failed alike are listed only for who asks.
  const fill = () => {
    if (!list.children.length) list.append(...rows.map(item));
  };
  const details = el("details", { ontoggle: fill }, el("summary", {}, rows.length === 1 ? "The cell" : `All ${rows.length} cells`), list);
  const first = commandOf(rows[0]);
  return el(
    "article",
    { class: "failure-group" },
    el("h3", {}, el("span", { class: "badge" }, `${rows.length} × ${status}`), ` ${some("placer")} on ${some("graph")}`),
    el("p", { class: "failure" }, message),
    first === null ? null : el("pre", { tabindex: "0", "aria-label": "The command that repeats the first of them" }, el("code", {}, first)),
    details,
  );
}

// The summary: placers by scenarios, whichever are more in the rows of the table.

const METRICS = [
  ["ratio", `${DATA.summary.metric} / best`, (value) => (value < 99.995 ? value.toFixed(2) : significant(value))],
  ["value", DATA.summary.metric, (value, row) => timeText(value, COLUMNS.time_unit[row], 3, false)],
  ["traffic", "traffic", (value) => bytesText(value)],
  ["seconds", "time to place", (value) => secondsText(value)],
];
// A ratio to the best that is as loud as it gets; the heat map has the same (heat_map.rs).
const LOUDEST = 8;
// Columns that fit beside each other; with more scenarios than that the table lies down.
const MOST_ACROSS = 40;
const FIRST_LINES = 60;

class SummaryTable {
  constructor(place) {
    const { scenarios, placers } = DATA.summary;
    this.flipped = scenarios.length > MOST_ACROSS && scenarios.length > placers.length;
    this.metric = 0;
    this.sort = null;
    this.descending = false;
    this.all = false;
    const choice = ([, label], index) => {
      const onchange = () => {
        this.metric = index;
        this.draw();
      };
      return el("label", {}, el("input", { type: "radio", name: "metric", value: index, checked: index === 0, onchange }), ` ${label}`);
    };
    this.note = el("p", { class: "note" });
    this.table = el("table", { class: "grid heat", id: "summary-grid" });
    this.more = el("button", { type: "button", onclick: () => this.showAll() });
    place.append(
      el("fieldset", { class: "choice" }, el("legend", {}, "Show"), METRICS.map(choice)),
      this.note,
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Summary" }, this.table),
      this.more,
    );
    this.draw();
    addEventListener("beforeprint", () => this.showAll());
  }

  showAll() {
    this.all = true;
    this.draw();
  }

  value(line, column) {
    const { summary } = DATA;
    const [name] = METRICS[this.metric];
    if (column === "mean") return summary.mean[line];
    const [placer, scenario] = this.flipped ? [column, line] : [line, column];
    return summary[name][placer][scenario];
  }

  draw() {
    const { scenarios, shown: placers, marks, common } = DATA.summary;
    const names = scenarios.map(([label]) => label);
    const [lines, columns] = this.flipped ? [names, placers] : [placers, names];
    const [metric, label] = METRICS[this.metric];
    const meaned = metric === "ratio" && !this.flipped && common > 0;
    const { order: standing } = DATA.summary;
    const keys = [...(this.flipped ? standing : columns.keys()), ...(meaned ? ["mean"] : [])];
    const order = this.flipped ? [...lines.keys()] : [...standing];
    if (this.sort !== null) order.sort((a, b) => this.compare(a, b, lines));
    const shown = this.all ? order : order.slice(0, FIRST_LINES);
    this.more.hidden = shown.length === order.length;
    this.more.textContent = `Show all ${order.length} rows`;
    const notes = [`Each placer with its best scheduler, mean of the repetitions: ${label}.`];
    if (this.sort === null) notes.push("Placers stand by their mean. Those that fail too often to have one stand behind.");
    notes.push("★ is the best, ☆ the best together with others.");
    if (meaned) notes.push(`The last column is the geometric mean over the ${common} that all placers with a mean finish.`);
    if (marks) notes.push(marks);
    this.note.textContent = notes.join(" ");
    const upright = columns.length > 12;
    const focused = [...this.table.querySelectorAll("thead button")].indexOf(document.activeElement);
    const header = (key, text, numeric = true) =>
      sortHeader(text, { title: `Sort by ${text}`, sorted: this.sorted(key), numeric, onclick: () => this.sortBy(key) });
    const head = el(
      "tr",
      {},
      header("name", this.flipped ? "graph" : "placer", false),
      keys.map((key) => header(key, key === "mean" ? "mean" : columns[key])),
    );
    const body = shown.map((line) =>
      el("tr", {}, el("th", { scope: "row" }, lines[line]), keys.map((key) => this.cell(line, key))),
    );
    this.table.classList.toggle("upright", upright);
    this.table.replaceChildren(el("thead", {}, head), el("tbody", {}, body));
    if (focused >= 0) this.table.querySelectorAll("thead button")[focused]?.focus();
  }

  cell(line, column) {
    const { summary } = DATA;
    const value = this.value(line, column);
    if (column === "mean") return el("td", { class: "number mean" }, value === null ? "" : METRICS[0][2](value));
    const [placer, scenario] = this.flipped ? [column, line] : [line, column];
    const row = summary.row[placer][scenario];
    if (value === null) return el("td", { class: "number none" }, row === null ? "" : cellLink(row, "failed"));
    const ratio = summary.ratio[placer][scenario];
    const ties = ratio === 1 && summary.ratio.filter((row) => row[scenario] === 1).length > 1;
    const node = el("td", { class: ratio === 1 ? `number best${ties ? " tied" : ""}` : "number" }, cellLink(row, METRICS[this.metric][2](value, row)));
    // A factor, not a difference, is a step.
    const heat = Math.min(Math.log(ratio) / Math.log(LOUDEST), 1);
    if (METRICS[this.metric][0] === "ratio" || METRICS[this.metric][0] === "value") node.style.setProperty("--heat", heat.toFixed(3));
    return node;
  }

  sorted(key) {
    if (this.sort === null && key === "mean") return "ascending";
    return this.sort === key ? (this.descending ? "descending" : "ascending") : null;
  }

  sortBy(key) {
    // The mean is what they are sorted by at first.
    if (this.sort === null && key === "mean") [this.sort, this.descending] = [key, true];
    else if (this.sort !== key) [this.sort, this.descending] = [key, false];
    else if (!this.descending) this.descending = true;
    else [this.sort, this.descending] = [null, false];
    this.draw();
  }

  compare(a, b, lines) {
    const value = (line) => (this.sort === "name" ? lines[line] : this.value(line, this.sort));
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) return (x === null) - (y === null) || a - b;
    return (this.descending ? -1 : 1) * compareValues(x, y) || a - b;
  }
}

// Figures are drawn already; each of their marks names what it stands for in data-key.

class Figures {
  constructor(place, tip) {
    this.tip = tip;
    this.placers = new Set(distinct("placer"));
    // The first repetition stands for all; where a placer has no result, its first failure does.
    this.rows = new Map();
    for (let row = ROWS - 1; row >= 0; row--) {
      const key = ["network", "graph", "cluster", "placer"].map((name) => COLUMNS[name][row]).join("|");
      const executor = isMeasured(row) ? `|${COLUMNS.executor[row]}` : "";
      this.rows.set(`${key}|${COLUMNS.scheduler[row]}${executor}`, row);
      if (!isOk(row)) this.rows.set(`${key}|`, row);
    }
    for (const figure of place.querySelectorAll("svg[role=img]")) this.enliven(figure);
    this.mark = null;
    addEventListener("scroll", () => this.place(), { passive: true });
  }

  enliven(figure) {
    const marks = [...figure.querySelectorAll(".mark")];
    if (!marks.length) return;
    for (const mark of marks) {
      // The page shows it better than the browser would; a screen reader keeps it.
      const title = mark.querySelector("title");
      mark.setAttribute("aria-label", title?.textContent ?? "");
      mark.setAttribute("role", "img");
      title?.remove();
    }
    figure.setAttribute("tabindex", "0");
    figure.setAttribute("role", "group");
    let current = -1;
    const select = (index) => {
      marks[current]?.classList.remove("current");
      current = index;
      if (current < 0) return this.hide();
      marks[current].classList.add("current");
      this.show(marks[current]);
    };
    figure.addEventListener("pointermove", (event) => {
      const mark = event.target.closest(".mark");
      if (mark && (mark !== marks[current] || this.tip.hidden)) select(marks.indexOf(mark));
    });
    figure.addEventListener("pointerleave", () => select(-1));
    figure.addEventListener("blur", () => select(-1));
    figure.addEventListener("click", (event) => this.open(event.target.closest(".mark")));
    figure.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
      if (event.key in steps) {
        // Backwards from nowhere is the last.
        const from = current < 0 && steps[event.key] < 0 ? 0 : current;
        select((from + steps[event.key] + marks.length) % marks.length);
        marks[current].scrollIntoView({ block: "nearest" });
      } else if (event.key === "Home") select(0);
      else if (event.key === "End") select(marks.length - 1);
      else if (event.key === "Escape") select(-1);
      else if (event.key === "Enter") this.open(marks[current]);
      else return;
      event.preventDefault();
    });
  }

  // What a mark stands for: a row, a placer, or nothing that the table has.
  meaning(mark) {
    const key = mark?.dataset.key;
    const row = this.rows.get(`${mark?.closest("figure").dataset.network}|${key}`);
    if (row !== undefined) return { row };
    return this.placers.has(key) ? { placer: key } : {};
  }

  open(mark) {
    const { row, placer } = this.meaning(mark);
    if (row !== undefined) location.hash = `cell=${row}`;
    else if (placer !== undefined) {
      location.hash = new URLSearchParams({ placer }).toString();
      document.getElementById("cells").scrollIntoView();
    }
  }

  show(mark) {
    const { row, placer } = this.meaning(mark);
    const lines = [el("strong", {}, mark.getAttribute("aria-label"))];
    if (row !== undefined) {
      const facts = ["makespan", "relative", "slr", "gap", "traffic_bytes", "utilization", "place_seconds"];
      const pairs = facts.filter((name) => text(name, row) !== "").map((name) => [ABOUT.get(name).header, text(name, row)]);
      lines.push(
        el("p", {}, `${COLUMNS.placer[row]} on ${COLUMNS.graph[row]}`, el("br"), subtitle(row)),
        el("dl", {}, pairs.map(([label, value]) => [el("dt", {}, label), el("dd", {}, value)])),
      );
    } else if (placer !== undefined) {
      lines.push(el("p", {}, `Click for the cells of ${placer}.`));
    }
    this.tip.replaceChildren(...lines);
    this.tip.hidden = false;
    this.mark = mark;
    this.place();
  }

  // Beside the mark, also when the page is scrolled under it, and within the window.
  place() {
    if (!this.mark) return;
    const box = this.mark.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    const left = Math.min(Math.max(box.left + box.width / 2 - width / 2, 8), innerWidth - width - 8);
    const below = box.bottom + 8;
    const top = below + height < innerHeight ? below : Math.max(box.top - height - 8, 8);
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${top}px`;
  }

  hide() {
    this.mark = null;
    this.tip.hidden = true;
  }
}
