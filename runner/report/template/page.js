"use strict";
// Without this script the page is complete; with it, columns sort and rows filter.

const keyOf = (cell) => {
  const key = cell.dataset.key ?? cell.textContent.trim();
  return key !== "" && Number.isFinite(Number(key)) ? Number(key) : key;
};

const compare = (a, b) => {
  if (a === "" || b === "") return 0; // told apart below: empty cells come last in both directions
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
};

const sortBy = (table, head) => {
  const column = head.cellIndex;
  const down = head.getAttribute("aria-sort") === "ascending";
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => ({ row, key: keyOf(row.cells[column]) }));
  rows.sort((a, b) => (a.key === "") - (b.key === "") || (down ? -1 : 1) * compare(a.key, b.key));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  body.append(...rows.map((entry) => entry.row));
};

const table = document.querySelector("table.sortable");
for (const head of table.tHead.rows[0].cells) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = head.textContent;
  button.addEventListener("click", () => sortBy(table, head));
  head.replaceChildren(button);
}

const input = document.querySelector("#filter");
const rows = Array.from(table.tBodies[0].rows, (row) => ({
  row,
  words: new Set((row.dataset.words ?? "").split(" ")), // name=value is matched whole, so block=12 is not block=128
  text: row.textContent.toLowerCase(),
}));

const filter = () => {
  const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const { row, words, text } of rows) {
    row.hidden = !wanted.every((word) => (word.includes("=") ? words.has(word) : text.includes(word)));
    shown += row.hidden ? 0 : 1;
  }
  document.querySelector("output").textContent = wanted.length ? `${shown} of ${rows.length} cases` : "";
};

input.addEventListener("input", filter);
input.closest(".filter").hidden = rows.length < 2;
// A link to a row that the filter hides would lead nowhere.
addEventListener("hashchange", () => { if (location.hash.startsWith("#case-")) { input.value = ""; filter(); document.getElementById(location.hash.slice(1))?.scrollIntoView(); } });
