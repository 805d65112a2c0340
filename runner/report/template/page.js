"use strict";
// Without this script the page is complete; with it columns sort, rows filter, and the less telling columns wait.

const told = (cell) => cell.textContent.replace(/^#\s/, "").trim(); // without the link to the row

// Numbers as the pages write them: 1,024  2^20  16Ki  32x16  1.05x  4.1 to 4.6  32/1 and 2**20; of several the first counts.
const NUMBER = /^([-+]?(?:\d[\d,]*)?\.?\d+(?:e[-+]?\d+)?)(ki|mi|gi)?x?(?: to .*| \(.*|\/.*)?$/i;
const UNITS = { ki: 2 ** 10, mi: 2 ** 20, gi: 2 ** 30 };
const valueOf = (text) => {
  const power = /^(\d+)(?:\^|\*\*)(\d+)$/.exec(text);
  if (power) return power[1] ** power[2];
  const sides = /^([1-9]\d*)x([1-9]\d*)$/.exec(text);
  if (sides) return sides[1] * sides[2];
  const number = NUMBER.exec(text);
  return number ? Number(number[1].replaceAll(",", "")) * (UNITS[number[2]?.toLowerCase()] ?? 1) : text;
};

const inOrder = new Intl.Collator("en", { numeric: true }).compare;
const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : inOrder(a, b));

const sortBy = (table, head) => {
  const column = head.cellIndex;
  const down = head.getAttribute("aria-sort") === "ascending";
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => ({ row, key: valueOf(told(row.cells[column])) }));
  rows.sort((a, b) => (a.key === "") - (b.key === "") || (down ? -1 : 1) * compare(a.key, b.key)); // empty ones last
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  body.remove(); // moving rows within the page takes several times as long
  body.append(...rows.map((entry) => entry.row));
  table.append(body);
};

const makeSortable = (table) => {
  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sortBy(table, head));
    head.replaceChildren(button);
  }
};

const OF_ALL = { "=": (a, b) => a === b, "!=": (a, b) => a !== b };
const OF_NUMBERS = { "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b };

// A column by its name: what its cells say, and their values, by the rows' first order. Those that the table does not show
// come with the page: a value for each row, or one for all.
const columnsOf = (rows, heads, further) => {
  const found = new Map();
  for (const head of heads) {
    const texts = rows.map((row) => told(row.cells[head.cellIndex]));
    found.set((head.dataset.name ?? head.textContent).toLowerCase(), { texts, values: texts.map(valueOf) });
  }
  for (const [name, value] of Object.entries(further)) {
    const values = rows.map((_, n) => (Array.isArray(value) ? value[n] : value) ?? "");
    if (!found.has(name.toLowerCase())) found.set(name.toLowerCase(), { texts: values.map(String), values });
  }
  return found;
};

// A word of the filter as a question to a row's number: name=value asks one column, all else asks the whole text.
const asking = (word, rows, columns) => {
  const [, name, sign, wanted] = /^(\w+)(<=|>=|!=|=|<|>)(.+)$/.exec(word) ?? [];
  const inText = (n) => rows[n].textContent.toLowerCase().includes(word);
  const { texts } = (name && columns().get(name)) ?? {};
  if (!texts) return name && !rows.some((_, n) => inText(n)) ? null : inText;
  const value = valueOf(wanted);
  return (n) => {
    const own = valueOf(texts[n].toLowerCase().replaceAll(" ", "_"));
    if (sign in OF_ALL) return OF_ALL[sign](own, value);
    return typeof own === "number" && typeof value === "number" && OF_NUMBERS[sign](own, value);
  };
};

const makeFilter = (table, rows, columns, input, output) => {
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const questions = words.map((word) => asking(word, rows, columns));
    const unknown = words.filter((_, n) => !questions[n]).map((word) => /^\w+/.exec(word)[0]);
    const known = questions.filter(Boolean);
    for (const [n, row] of rows.entries()) row.hidden = !known.every((holds) => holds(n));
    const shown = rows.filter((row) => !row.hidden).length;
    output.textContent = unknown.length
      ? `There is no column ${unknown.join(", ")}. There are: ${Array.from(columns().keys()).filter((name) => !name.includes(" ")).join(", ")}.`
      : words.length ? `${shown} of ${rows.length} ${input.dataset.of ?? "cases"}` : "";
    input.setAttribute("aria-invalid", String(unknown.length > 0));
    table.dispatchEvent(new Event("filtered"));
  };
  // A link to a row that the filter hides would lead nowhere.
  const follow = () => {
    const row = document.getElementById(location.hash.slice(1));
    if (!row || !table.contains(row)) return;
    if (row.hidden) {
      input.value = "";
      filter();
    }
    row.scrollIntoView();
  };
  input.addEventListener("input", filter);
  input.closest(".filter").hidden = rows.length < 2;
  addEventListener("hashchange", follow);
  follow();
};

// The widths that columns would have, from a copy of the rows with the longest texts.
const widthsOf = (table) => {
  const rows = Array.from(table.tBodies[0].rows);
  const copy = table.cloneNode(false);
  copy.classList.remove("many");
  copy.append(table.tHead.cloneNode(true), document.createElement("tbody"));
  for (const { cellIndex } of table.tHead.rows[0].cells) {
    const lengths = rows.map((row) => row.cells[cellIndex].textContent.length);
    copy.tBodies[0].append(rows[lengths.indexOf(Math.max(...lengths))].cloneNode(true));
  }
  table.after(copy);
  const widths = Array.from(copy.tHead.rows[0].cells, (head) => head.getBoundingClientRect().width);
  copy.remove();
  return widths.filter(Boolean);
};

// Of thousands of rows only those in view are laid out. A browser can skip rows of a grid, not of a table.
const MANY = 1000;
const hasten = (table) => {
  if (table.tBodies[0].rows.length < MANY) return;
  table.classList.add("many");
  const widths = widthsOf(table);
  table.style.setProperty("--columns", widths.map((width) => `${width}px`).join(" "));
  table.style.setProperty("--width", `${widths.reduce((sum, width) => sum + width, 0)}px`);
};

const makeBrief = (table, box) => {
  const choose = () => {
    table.classList.toggle("brief", !box.checked);
    hasten(table);
  };
  box.addEventListener("change", choose);
  choose();
};

// Light or dark: the reader's choice goes ahead of the system's, and lasts where the browser lets it.
const makeTheme = (button) => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const now = () => root.dataset.theme ?? (dark.matches ? "dark" : "light");
  const other = () => (now() === "dark" ? "light" : "dark");
  const kept = (change) => {
    try {
      return change(localStorage);
    } catch {
      return null; // a page from a file may have no store
    }
  };
  const show = (theme) => {
    if (theme === "dark" || theme === "light") root.dataset.theme = theme;
    button.textContent = other() === "dark" ? "Dark" : "Light";
  };
  button.addEventListener("click", () => {
    show(other());
    kept((store) => store.setItem("theme", now()));
  });
  dark.addEventListener("change", () => show());
  show(kept((store) => store.getItem("theme")));
  button.hidden = false;
};

makeTheme(document.querySelector("#theme"));

const table = document.querySelector("table.sortable");
const box = document.querySelector("#all-columns");
const given = JSON.parse(document.querySelector("#data")?.textContent ?? "{}");
const rows = Array.from(table?.tBodies[0].rows ?? []);
let known;
const allColumns = () => (known ??= columnsOf(rows, table.tHead.rows[0].cells, given.columns ?? {}));
if (table) {
  makeSortable(table);
  if (box) makeBrief(table, box);
  else hasten(table);
  makeFilter(table, rows, allColumns, document.querySelector("#filter"), document.querySelector(".filter output"));
}

// Annotated sources: a filter asks the costs of the reading that the reader chose.
const makeLines = (section) => {
  const all = Array.from(section.querySelectorAll("tr[data-line]"));
  const names = ["kind", "memory", "sectors", "wavefronts", "lanes", "bytes", "requests", "divergent"];
  const input = section.querySelector("#line-filter");
  const ofLines = () => {
    const costs = all.map((row) => Array.from(row.querySelectorAll(".cost:not([hidden])")));
    const largest = (values) => values.sort((a, b) => compare(valueOf(b), valueOf(a)))[0] ?? "";
    const found = names.map((name) => [name, costs.map((own) => largest(own.flatMap((cost) => cost.dataset[name] ?? [])))]);
    found.push(...["kernel", "line"].map((name) => [name, all.map((row) => row.dataset[name])]));
    return new Map(found.map(([name, texts]) => [name, { texts, values: texts.map(valueOf) }]));
  };
  makeFilter(section, all, ofLines, input, section.querySelector("output"));
  for (const listing of section.querySelectorAll(".listing")) {
    listing.querySelector("select")?.addEventListener("change", (event) => {
      for (const cost of listing.querySelectorAll(".cost")) cost.hidden = cost.dataset.reading !== event.target.value;
      for (const row of listing.querySelectorAll("tr[data-line]:not(.hazard)")) {
        const marks = ["worst", "costly"].filter((mark) => row.querySelector(`.${mark}:not([hidden])`));
        row.classList.remove("worst", "costly");
        if (marks[0]) row.classList.add(marks[0]);
      }
      input.dispatchEvent(new Event("input"));
    });
  }
  const tidy = () => { // a filter leaves no fold and no listing without a line
    section.classList.toggle("filtered", input.value.trim() !== "");
    for (const fold of section.querySelectorAll(".fold")) fold.hidden = input.value.trim() !== "";
    for (const listing of section.querySelectorAll(".listing")) listing.hidden = !listing.querySelector("tr[data-line]:not([hidden])");
  };
  section.addEventListener("filtered", tidy);
};
if (document.querySelector("#lines")) makeLines(document.querySelector("#lines"));

// The page of a running sweep is loaded again when there are new results; what the reader chose stays.
const follow = (live) => {
  const inputs = () => Array.from(document.querySelectorAll("#filter, #all-columns, #explorer select"));
  const before = JSON.parse(sessionStorage.getItem("live") ?? "{}");
  for (const input of inputs()) {
    const value = before[input.id || input.name];
    if (value === undefined) continue;
    if (input.type === "checkbox") input.checked = value;
    else input.value = value;
    input.dispatchEvent(new Event(input.id === "filter" ? "input" : "change"));
  }
  const look = async () => {
    const now = await fetch("state").then((answer) => answer.text(), () => live.dataset.state); // the server may be gone
    if (now === live.dataset.state) return setTimeout(look, 1000);
    const chosen = inputs().map((input) => [input.id || input.name, input.type === "checkbox" ? input.checked : input.value]);
    sessionStorage.setItem("live", JSON.stringify(Object.fromEntries(chosen)));
    return location.reload();
  };
  setTimeout(look, 1000);
};
addEventListener("load", () => {
  const live = document.querySelector("#live");
  if (live) follow(live);
});
