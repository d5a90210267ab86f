// The table of all cells: sorted by any column, filtered by text and by column, a page at a time.

const FILTERS = ["graph", "cluster", "placer", "scheduler", "network", "executor", "repetition", "status"];
const SEARCHED = ["graph", "cluster", "placer", "scheduler", "network", "status", "error", "bound"];
// What people look at first; the others are a click away.
const FIRST_COLUMNS = [
  "graph", "cluster", "placer", "scheduler", "network", "executor", "repetition", "status", "makespan", "relative", "slr", "gap",
  "traffic_bytes", "utilization", "place_seconds",
];
const PAGE_ROWS = 50;
// What a printer gets of a long table.
const PRINTED_ROWS = 1000;

const collator = new Intl.Collator("en", { numeric: true });

function compareValues(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b));
}

// Sorts rows by a column; rows without a value come last either way, equal ones stay in the suite's order.
function sortRows(rows, name, descending) {
  const values = COLUMNS[name];
  const sign = descending ? -1 : 1;
  return rows.sort((a, b) => {
    const [x, y] = [values[a], values[b]];
    if (x === null || y === null) return (x === null) - (y === null) || a - b;
    return sign * compareValues(x, y) || a - b;
  });
}

// A header that sorts: a button, so that the keyboard reaches it.
function sortHeader(label, { title, sorted, numeric, onclick }) {
  const arrow = { ascending: "↑", descending: "↓" }[sorted] ?? "";
  return el(
    "th",
    { scope: "col", "aria-sort": sorted ?? "none", class: numeric ? "number" : null },
    el(
      "button",
      { type: "button", title, onclick },
      el("span", { class: "label" }, label),
      el("span", { class: "arrow", "aria-hidden": "true" }, arrow),
    ),
  );
}

class CellTable {
  constructor(place, onchange) {
    this.onchange = onchange;
    this.varied = FILTERS.filter((name) => distinct(name).length > 1);
    const shown = (name) => !FILTERS.includes(name) || this.varied.includes(name) || name === "graph" || name === "placer";
    this.defaults = FIRST_COLUMNS.filter(shown);
    this.haystack = null;
    this.build(place);
    this.load(new URLSearchParams());
  }

  // From and to the URL's fragment.

  load(parameters) {
    this.query = parameters.get("q") ?? "";
    this.chosen = {};
    for (const name of this.varied) {
      if (parameters.has(name)) this.chosen[name] = parameters.get(name);
    }
    const sort = parameters.get("sort") ?? "";
    this.descending = sort.startsWith("-");
    const column = sort.replace(/^-/, "");
    this.sort = ABOUT.has(column) ? column : null;
    const columns = (parameters.get("columns") ?? "").split(",").filter((name) => ABOUT.has(name));
    this.columns = columns.length ? columns : this.defaults;
    this.page = Math.max((Number.parseInt(parameters.get("page"), 10) || 1) - 1, 0);
    this.box.value = this.query;
    for (const [name, select] of Object.entries(this.selects)) select.value = this.chosen[name] ?? "";
    this.refresh();
  }

  parameters() {
    const parameters = new URLSearchParams();
    if (this.query) parameters.set("q", this.query);
    for (const name of this.varied) {
      if (name in this.chosen) parameters.set(name, this.chosen[name]);
    }
    if (this.sort) parameters.set("sort", (this.descending ? "-" : "") + this.sort);
    if (this.columns.join() !== this.defaults.join()) parameters.set("columns", this.columns.join());
    if (this.page > 0) parameters.set("page", this.page + 1);
    return parameters;
  }

  changed() {
    this.page = 0;
    this.refresh();
    this.onchange();
  }

  // The controls stay; only the table is drawn anew.

  build(place) {
    let timer = null;
    this.box = el("input", {
      type: "search",
      id: "filter",
      placeholder: "words, all of which must occur",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => {
        clearTimeout(timer);
        timer = setTimeout(() => {
          this.query = this.box.value;
          this.changed();
        }, 120);
      },
    });
    this.selects = {};
    const selects = this.varied.map((name) => {
      const options = distinct(name).map((value) => el("option", { value }, String(value)));
      const onchange = (event) => {
        if (event.target.value === "") delete this.chosen[name];
        else this.chosen[name] = event.target.value;
        this.changed();
      };
      this.selects[name] = el("select", { onchange }, el("option", { value: "" }, "all"), options);
      return el("label", {}, el("span", {}, ABOUT.get(name).header), this.selects[name]);
    });
    const clear = el("button", { type: "button", id: "clear", onclick: () => this.clear() }, "Clear");
    this.chooser = el("div", { class: "columns" });
    const form = el(
      "form",
      { class: "filters", role: "search", "aria-label": "Filter cells", onsubmit: (event) => event.preventDefault() },
      el("label", { class: "wide" }, el("span", {}, "Text"), this.box),
      selects,
      clear,
    );
    const choosing = el("details", { class: "chooser" }, el("summary", {}, "Columns"), this.chooser);
    this.status = el("p", { class: "status", role: "status", id: "status" });
    this.head = el("thead");
    this.body = el("tbody");
    this.table = el("table", { class: "grid", id: "rows" }, el("caption", {}, this.constants()), this.head, this.body);
    const scroller = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Cells" }, this.table);
    const turn = (by) => () => {
      this.page += by;
      this.refresh();
      this.onchange();
      this.status.scrollIntoView({ block: "nearest" });
    };
    this.back = el("button", { type: "button", onclick: turn(-1) }, "← Previous");
    this.next = el("button", { type: "button", onclick: turn(1) }, "Next →");
    this.where = el("span");
    this.pager = el("nav", { class: "pager", "aria-label": "Pages of the table" }, this.back, this.where, this.next);
    this.cut = el("p", { class: "print-only" });
    place.append(form, choosing, this.status, scroller, this.pager, this.cut);
    addEventListener("beforeprint", () => this.draw(0, PRINTED_ROWS));
    addEventListener("afterprint", () => this.refresh());
  }

  clear() {
    this.query = this.box.value = "";
    this.chosen = {};
    for (const select of Object.values(this.selects)) select.value = "";
    this.changed();
    this.box.focus();
  }

  // What is the same in all rows needs no column.
  constants() {
    const same = ["cluster", "scheduler", "network", "repetition", "status"].filter(
      (name) => !this.varied.includes(name) && ROWS > 0,
    );
    return same.length ? `All cells: ${same.map((name) => `${ABOUT.get(name).header} ${text(name, 0)}`).join(", ")}.` : "";
  }

  filtered() {
    const words = this.query.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length && !this.haystack) {
      const line = (_, row) => SEARCHED.map((name) => COLUMNS[name][row] ?? "").join("\n").toLowerCase();
      this.haystack = Array.from({ length: ROWS }, line);
    }
    const chosen = Object.entries(this.chosen).map(([name, value]) => [COLUMNS[name], value]);
    const rows = [];
    for (let row = 0; row < ROWS; row++) {
      if (!chosen.every(([values, value]) => String(values[row]) === value)) continue;
      if (words.every((word) => this.haystack[row].includes(word))) rows.push(row);
    }
    return rows;
  }

  refresh() {
    this.rows = this.filtered();
    if (this.sort) sortRows(this.rows, this.sort, this.descending);
    const pages = Math.max(Math.ceil(this.rows.length / PAGE_ROWS), 1);
    this.page = Math.min(this.page, pages - 1);
    this.draw(this.page * PAGE_ROWS, PAGE_ROWS);
    const of = this.rows.length === ROWS ? "" : ` of ${grouped(String(ROWS))}`;
    this.status.textContent = `${grouped(String(this.rows.length))}${of} cells`;
    this.pager.hidden = pages === 1;
    this.where.textContent = `Page ${this.page + 1} of ${pages}`;
    this.back.disabled = this.page === 0;
    this.next.disabled = this.page === pages - 1;
    this.drawChooser();
  }

  draw(from, count) {
    const focused = this.head.contains(document.activeElement)
      ? [...this.head.querySelectorAll("button")].indexOf(document.activeElement)
      : -1;
    this.head.replaceChildren(el("tr", {}, this.columns.map((name) => this.header(name))));
    // Sorting by the keyboard goes on where it was.
    if (focused >= 0) this.head.querySelectorAll("button")[focused]?.focus();
    this.body.replaceChildren(...this.rows.slice(from, from + count).map((row) => this.line(row)));
    this.cut.textContent =
      this.rows.length > PRINTED_ROWS ? `The first ${PRINTED_ROWS} of ${this.rows.length} cells: filter to print others.` : "";
  }

  header(name) {
    const { header, meaning } = ABOUT.get(name);
    const sorted = this.sort === name ? (this.descending ? "descending" : "ascending") : null;
    const onclick = () => {
      // Up, down, and back to the suite's order.
      if (this.sort !== name) [this.sort, this.descending] = [name, false];
      else if (!this.descending) this.descending = true;
      else [this.sort, this.descending] = [null, false];
      this.changed();
    };
    return sortHeader(header, { title: meaning, sorted, numeric: isNumeric(name), onclick });
  }

  line(row) {
    const cells = this.columns.map((name, index) => {
      const value = text(name, row);
      if (index === 0) return el("th", { scope: "row" }, cellLink(row, value || "cell"));
      return el("td", { class: isNumeric(name) ? "number" : null }, value);
    });
    return el("tr", { class: isOk(row) ? null : "failed" }, cells);
  }

  drawChooser() {
    if (this.chooser.contains(document.activeElement)) return;
    const box = ({ name, header, meaning }) => {
      const onchange = (event) => {
        const order = [...ABOUT.keys()];
        const others = this.columns.filter((other) => other !== name);
        this.columns = event.target.checked ? order.filter((other) => other === name || others.includes(other)) : others;
        if (!this.columns.length) this.columns = this.defaults;
        this.refresh();
        this.onchange();
      };
      const checked = this.columns.includes(name);
      return el("label", { title: meaning }, el("input", { type: "checkbox", checked, onchange }), ` ${header}`);
    };
    this.chooser.replaceChildren(...[...ABOUT.values()].map(box));
  }
}
