// The lines of cases. Each is drawn when it comes into view, since there may be hundreds.

const WIDTH = 440, HEIGHT = 170, LEFT = 52, RIGHT = 12, TOP = 26, BOTTOM = 24, MIDDLE = (TOP + HEIGHT - BOTTOM) / 2;
const DOTS = 90; // up to this many points each has a dot
const LABELLED = 3; // the newest steps of a line have words
const LETTER = 7; // pixels
const runLines = given.lines;
const places = Array.from(document.querySelectorAll(".lines > .line"));
const runTable = Array.from(document.querySelector("#all-runs").tBodies[0].rows).reverse();

const svg = (name, attributes, text) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
};
const html = (name, properties, ...children) => {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
};

const inDigits = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });
const runOf = (number) => {
  const [run, started, commit] = runTable[number].cells;
  return { name: run.textContent, link: run.querySelector("a")?.getAttribute("href"), started: started.textContent, commit: commit.textContent };
};
const colourOf = (line, n) => `var(--c${line.names.length ? line.names[n] : 0})`;
const unitOf = (line, n) => (line.names.length ? ` ${given.counts[line.names[n]]}` : " µs");

// What a point says: the case's values, or why it has none, and what its step was.
const valuesAt = (line, n) => line.failed[n] ?? (line.series.map(([values, low, high], s) => {
  if (values[n] === null) return "";
  const between = low && low[n] !== null && high[n] !== low[n] ? ` (${inDigits(low[n])} to ${inDigits(high[n])})` : "";
  return `${inDigits(values[n])}${unitOf(line, s)}${between}`;
}).filter(Boolean).join(", ") || "ok");
const causesAt = (line, n) => {
  const place = String(runLines.indexOf(line));
  const event = Array.from(document.querySelectorAll(`.event[data-run="${line.runs[n]}"]`)).find((one) => one.dataset.lines.split(" ").includes(place));
  const causes = Array.from(event?.querySelectorAll(".causes li") ?? [], (one) => one.textContent.trim());
  return causes.length ? `; also changed: ${causes.join("; ")}` : "";
};
const stepsAt = (line, n) => {
  const steps = line.steps.filter(([at]) => at === n).map(([, bad, change]) => `${bad ? "▲" : "▼"} ${change}`);
  return steps.length ? steps.join(", ") + causesAt(line, n) : "";
};
const wordsAt = (line, n) => {
  const { started, commit } = runOf(line.runs[n]);
  return [`${started}${commit && `, commit ${commit}`}`, valuesAt(line, n), stepsAt(line, n)].filter(Boolean).join("; ");
};

const scales = (line) => {
  const values = line.series.flat(2).filter((value) => value !== null);
  const low = values.length ? Math.min(...values) : 0, high = values.length ? Math.max(...values) : 1;
  const margin = Math.max((high - low) * 0.08, high * 0.02, 1e-9);
  const [bottom, top] = [Math.max(0, low - margin), high + margin];
  const most = Math.max(1, line.runs.length - 1);
  const x = (n) => Math.round(10 * (LEFT + ((WIDTH - LEFT - RIGHT) * (line.runs.length > 1 ? n : 0.5)) / most)) / 10;
  const y = (value) => Math.round(10 * (TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - bottom) / (top - bottom)))) / 10;
  const few = y(low) - y(high);
  return { x, y, ticks: values.length ? [low, ...(few > 40 ? [(low + high) / 2] : []), ...(few > 16 ? [high] : [])] : [] };
};

const markSteps = (line, x) => {
  let free = WIDTH; // labels go from right to left and must not meet
  return line.steps.toReversed().flatMap(([at, bad, change, values], n) => {
    const name = bad ? "step bad" : "step";
    const marks = [svg("line", { class: name, x1: x(at), x2: x(at), y1: TOP - 4, y2: HEIGHT - BOTTOM }), svg("title", {}, values)];
    const text = [`${bad ? "▲" : "▼"} ${change}`, runOf(line.runs[at]).commit.slice(0, 7)].filter(Boolean).join(", ");
    const middle = Math.max(LEFT, Math.min(x(at) - (text.length * LETTER) / 2, WIDTH - text.length * LETTER));
    if (n < LABELLED && middle + text.length * LETTER <= free) {
      free = middle - 8;
      marks.push(svg("text", { class: name, x: middle, y: TOP - 10 }, text));
    } else marks.push(svg("text", { class: name, x: x(at), y: TOP + 2, "text-anchor": "middle" }, bad ? "▲" : "▼"));
    return marks;
  });
};

const draw = (line, title) => {
  const { x, y: yOf, ticks } = scales(line);
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}: ${line.runs.length} runs, ${line.steps.length} real steps; the newest is ${wordsAt(line, line.runs.length - 1)}` });
  for (const tick of ticks) {
    picture.append(svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: yOf(tick), y2: yOf(tick) }));
    picture.append(svg("text", { x: LEFT - 6, y: yOf(tick) + 4, "text-anchor": "end" }, inDigits(tick)));
  }
  picture.append(svg("text", { x: LEFT, y: HEIGHT - 5 }, runOf(line.runs[0]).started.slice(0, 10)));
  if (line.runs.length > 1) picture.append(svg("text", { x: WIDTH - RIGHT, y: HEIGHT - 5, "text-anchor": "end" }, runOf(line.runs.at(-1)).started.slice(0, 10)));
  for (const [s, [values, low, high]] of line.series.entries()) {
    const y = (value) => yOf(value) + 2 * (s - (line.series.length - 1) / 2); // equal lines lie beside each other
    const there = values.map((value, n) => [value, n]).filter(([value]) => value !== null).map(([, n]) => n);
    if (low) {
      const known = there.filter((n) => low[n] !== null && high[n] !== null);
      const edge = [...known.map((n) => `${x(n)},${y(high[n])}`), ...known.toReversed().map((n) => `${x(n)},${y(low[n])}`)];
      if (known.length > 1) picture.append(svg("polygon", { class: "band", points: edge.join(" "), style: `fill:${colourOf(line, s)}` }));
    }
    if (there.length) picture.append(svg("path", { d: `M${there.map((n) => `${x(n)},${y(values[n])}`).join("L")}`, style: `stroke:${colourOf(line, s)}` }));
    if (there.length <= DOTS) for (const n of there) picture.append(svg("circle", { cx: x(n), cy: y(values[n]), r: 2.4, style: `fill:${colourOf(line, s)}` }));
  }
  if (!line.series.length) for (const n of line.runs.keys()) if (!(n in line.failed)) picture.append(svg("circle", { cx: x(n), cy: MIDDLE, r: 2.4, style: "fill:var(--pale)" }));
  for (const n of Object.keys(line.failed)) {
    const before = line.series[0]?.[0].slice(0, n).findLast((value) => value !== null);
    picture.append(svg("text", { class: "failed", x: x(n), y: (before === undefined ? MIDDLE : yOf(before)) + 5, "text-anchor": "middle" }, "✕"));
  }
  picture.append(...markSteps(line, x));
  return { picture, x };
};

const tableOf = (line) => {
  const rows = line.runs.map((number, n) => {
    const { name, link, started, commit } = runOf(number);
    const report = link ? html("a", { href: link, textContent: "report" }) : name;
    return html("tr", {}, ...[started, valuesAt(line, n), stepsAt(line, n), commit].map((textContent) => html("td", { className: "left", textContent })), html("td", { className: "left" }, report));
  });
  const heads = ["started (UTC)", "value", "step", "commit", "run"].map((textContent) => html("th", { scope: "col", className: "left", textContent }));
  return html("table", {}, html("thead", {}, html("tr", {}, ...heads)), html("tbody", {}, ...rows.reverse()));
};

const fill = (place) => {
  const drawn = place.querySelector(".drawn"), title = place.querySelector("h3").textContent;
  if (drawn.firstChild) return;
  const line = runLines[places.indexOf(place)];
  const last = line.runs.length - 1;
  if (last < 0) return;
  const { picture, x } = draw(line, title);
  const cursor = svg("line", { class: "cursor", x1: 0, x2: 0, y1: TOP - 4, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  picture.append(cursor);
  const slider = html("input", { type: "range", min: 0, max: last, value: last });
  const read = html("p", { className: "read" });
  const show = (n, marked = true) => {
    const { name, link } = runOf(line.runs[n]);
    slider.value = n;
    slider.setAttribute("aria-valuetext", wordsAt(line, n));
    for (const key of ["x1", "x2"]) cursor.setAttribute(key, x(n));
    cursor.setAttribute("visibility", marked ? "visible" : "hidden");
    read.replaceChildren(wordsAt(line, n), ". ", link ? html("a", { href: link, textContent: "Report" }) : name);
  };
  slider.setAttribute("aria-label", `Run of ${title}`);
  slider.addEventListener("input", () => show(Number(slider.value)));
  slider.addEventListener("focus", () => show(Number(slider.value)));
  const nearest = (event) => {
    const box = picture.getBoundingClientRect();
    const share = (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT);
    return Math.max(0, Math.min(last, Math.round(share * last)));
  };
  picture.addEventListener("pointermove", (event) => show(nearest(event)));
  picture.addEventListener("click", (event) => {
    const { link } = runOf(line.runs[nearest(event)]);
    if (link && matchMedia("(hover: hover)").matches) location.href = link; // a finger has no other way to point
    else show(nearest(event));
  });
  show(last, false);
  const legend = line.names.map((name, s) => html("span", {}, Object.assign(html("i", { className: "swatch" }), { style: `background:${colourOf(line, s)}` }), `${given.counts[name]} `));
  const table = html("div", { className: "table", tabIndex: 0 });
  table.setAttribute("role", "region");
  table.setAttribute("aria-label", `Runs of ${title}`);
  const all = html("details", {}, html("summary", { textContent: line.runs.length > 1 ? `${line.runs.length} runs as a table` : "1 run as a table" }), table);
  all.addEventListener("toggle", () => table.firstChild ?? table.append(tableOf(line)));
  drawn.append(...(legend.length ? [html("p", { className: "pale" }, ...legend)] : []), html("div", { className: "plot" }, picture, slider), read, all);
};

const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) fill(target);
}, { rootMargin: "600px" });
for (const place of places) seen.observe(place);
addEventListener("beforeprint", () => places.filter((place) => !place.hidden).forEach(fill));

// The filter asks the cases; an event stays while one of its cases does.
const lineList = document.querySelector(".lines");
const filterInput = document.querySelector("#filter");
const ofLines = columnsOf(places, [], given.columns);
makeFilter(lineList, places, () => ofLines, filterInput, document.querySelector(".filter output"));
const older = document.querySelector(".older");
lineList.addEventListener("filtered", () => {
  const asked = filterInput.value.trim() !== "";
  for (const event of document.querySelectorAll(".event")) {
    event.hidden = asked && !event.dataset.lines.split(" ").some((n) => places[n] && !places[n].hidden);
  }
  if (older && asked) older.open = true;
});
