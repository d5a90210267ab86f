// Puts the page together, and follows the URL's fragment: `#cell=12` is the page of a cell, `#graph=nmt&sort=-makespan`
// a state of the table, `#summary` a section.

const overview = document.getElementById("overview");
const cellPlace = document.getElementById("cell");
const homeTitle = document.title;

const table = new CellTable(document.getElementById("cell-table"), () => {
  // A new state of the table replaces the old one, so that Back leads to where one came from, not through every key.
  const fragment = table.parameters().toString();
  history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname + location.search);
});

let scrolled = 0;

function showOverview() {
  if (overview.hidden) {
    overview.hidden = false;
    cellPlace.hidden = true;
    cellPlace.replaceChildren();
    document.title = homeTitle;
    scrollTo(0, scrolled);
  }
}

function showCell(row) {
  if (!overview.hidden) scrolled = scrollY;
  figures.hide();
  overview.hidden = true;
  cellPlace.hidden = false;
  cellPlace.replaceChildren(...cellPage(row, table.rows).flat(2).filter(Boolean));
  document.title = `${COLUMNS.placer[row]} on ${COLUMNS.graph[row]} · ${homeTitle}`;
  scrollTo(0, 0);
  cellPlace.querySelector("h1").focus({ preventScroll: true });
}

function follow() {
  const fragment = location.hash.slice(1);
  const parameters = new URLSearchParams(fragment);
  const row = Number.parseInt(parameters.get("cell"), 10);
  if (row >= 0 && row < ROWS) return showCell(row);
  if (fragment === "main") return undefined;
  showOverview();
  if (fragment.includes("=")) table.load(parameters);
  else if (fragment) document.getElementById(fragment)?.scrollIntoView();
  return undefined;
}

function themeButton(button) {
  const themes = ["system", "light", "dark"];
  let theme = "system";
  const apply = () => {
    document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  try {
    theme = themes.includes(localStorage.getItem("placebench-theme")) ? localStorage.getItem("placebench-theme") : theme;
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  apply();
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    apply();
    try {
      localStorage.setItem("placebench-theme", theme);
    } catch {
      // As above.
    }
  });
}

themeButton(document.getElementById("theme"));
const failed = drawFailures(document.getElementById("failure-list"));
document.getElementById("failures").hidden = document.getElementById("to-failures").hidden = !failed;
new SummaryTable(document.getElementById("summary-table"));
const figures = new Figures(document.getElementById("figures"), document.getElementById("tip"));
// What is folded away on the screen is wanted on paper, where nobody can unfold it.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details:not(.chooser)")) details.open = true;
});
addEventListener("hashchange", follow);
follow();
