// Charts in place of the figures of times: the reader chooses the axes, and each point leads to its row. The cases are
// those of the table, after its filter; columns that the table does not show come with the page.

const SHOWN_SERIES = 6;
const CHOICES = 40; // values of a column of words that can stand on an axis
const LESS = /_us$|_s$/; // less of it is better
const MORE = /^(gbps|gflops|percent_.*|speedup)$/;
const SYMBOLS = [...d3.symbolsFill.slice(0, 1), ...d3.symbolsFill.slice(2, 6)];

const distinct = (values) => Array.from(new Set(values.filter((value) => value !== "" && value !== null)));
const isRectangle = (text) => /^\d+x\d+$/.test(text);
const isNumeric = (column) => column.values.every((v, n) => v === "" || (typeof v === "number" && !isRectangle(column.texts[n])));
const inWords = (value) => (typeof value === "number" && Number.isInteger(Math.log2(value)) && value >= 1024 ? `2^${Math.log2(value)}` : String(value));

const FONT = { fontSize: "13px", fontFamily: "inherit", background: "transparent", color: "inherit" };
const goTo = (plot, row) => plot.addEventListener("click", () => plot.value && (location.hash = row(plot.value).id));

// A chart stands in a grid of panels as wide as the page, and is drawn again when that changes.
const onResize = (place, draw) => {
  let width = place.clientWidth;
  new ResizeObserver(([{ contentRect }]) => {
    if (Math.abs(contentRect.width - width) < 2) return;
    width = contentRect.width;
    draw();
  }).observe(place);
};

const titled = (title, plot) => {
  const panel = document.createElement("div");
  for (const mark of plot.querySelectorAll("g[aria-label]")) mark.removeAttribute("aria-label"); // no role that has one
  if (title) panel.append(Object.assign(document.createElement("p"), { className: "panel", textContent: title }));
  panel.append(plot);
  return panel;
};

// Draws a chart as data, see report/figures/chart.py: those marks that the figures with a view of kind "chart" have.
// Another mark is a TypeError, so that none is left out unseen. Colours become those of the page's theme.
const THEMED = { "#1a1a1a": "currentColor", "#5c5c5c": "var(--pale)", "#9a9aa2": "var(--faint)", ...Object.fromEntries(["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"].map((colour, n) => [colour, `var(--c${n})`])) };
const themed = (colour) => THEMED[colour] ?? colour;
const shade = (percent) => d3.interpolateCividis(0.12 + 0.88 * Math.max(0, (percent - 50) / 50));
const ROUND = [-3, -2, -1, 0, 1, 2, 3].flatMap((k) => [1, 2, 5].map((m) => m * 10 ** k));
const points = (mark) => mark.x.map((x, n) => ({ x, y: mark.y[n], tip: mark.tips?.[n], row: mark.rows?.[n], percent: mark.percents?.[n], words: mark.words?.[n], ink: mark.inks?.[n] }));
const AT = { x: "x", y: "y" };

const MARKS = {
  line: (mark) => [
    ...(mark.look.dash ? [Plot.line(points(mark), { ...AT, stroke: themed(mark.look.colour), strokeWidth: mark.look.width })] : []),
    ...(mark.look.marker ? [Plot.dot(points(mark), { ...AT, r: 0.85 * mark.look.size, fill: themed(mark.look.colour) })] : []),
  ],
  whiskers: (mark) => [Plot.ruleX(mark.at, { x: (x) => x, y1: (_, n) => mark.low[n], y2: (_, n) => mark.high[n], stroke: themed(mark.colours[0]), strokeWidth: mark.width })],
  rule: (mark) => [Plot.ruleY([mark.at], { stroke: themed(mark.look.colour) })],
  note: (mark) => [Plot.text([mark], { ...AT, dx: (mark.right ?? 0) + 5, dy: -(mark.up ?? 0), textAnchor: "start", text: "text", fill: themed(mark.colour) })],
  cells: (mark, room) => {
    const timed = (one) => typeof one.percent === "number";
    const square = { x1: (one) => one.x + 0.02, x2: (one) => one.x + 0.98, y1: (one) => one.y + 0.02, y2: (one) => one.y + 0.98 };
    const middle = { x: (one) => one.x + 0.5, y: (one) => one.y + 0.5 };
    const cells = points(mark);
    return [
      Plot.rect(cells, { ...square, fill: (one) => (timed(one) ? shade(one.percent) : "var(--soft)"), stroke: (one) => (one.percent === 100 ? "currentColor" : "none"), strokeWidth: 2 }),
      ...(room < 26 ? [] : [Plot.text(cells.filter(timed), { ...middle, text: (one) => Math.round(one.percent), fill: (one) => one.ink, fontWeight: (one) => (one.percent === 100 ? "bold" : "normal") })]),
      Plot.text(cells.filter((one) => !timed(one)), { ...middle, text: (one) => (room < 60 ? "–" : one.words.replaceAll("\n", " ")), fill: "var(--pale)", fontSize: 11 }),
    ];
  },
};

const axisOf = (axis, label, room) => {
  const words = new Map(axis.ticks ?? []);
  const longest = Math.max(0, ...Array.from(words.values(), (text) => text.length));
  const every = Math.max(1, Math.ceil(((longest * 7.5 + 8) * words.size) / room));
  const round = ROUND.filter((tick) => tick >= Math.min(axis.low, axis.high) && tick <= Math.max(axis.low, axis.high));
  const given = axis.ticks ? Array.from(words.keys()).filter((_, n) => n % every === 0) : axis.log ? round : undefined;
  return { type: axis.log ? "log" : "linear", domain: [axis.low, axis.high], label: label || null, labelAnchor: "center", labelArrow: "none", ticks: given, tickFormat: (value) => words.get(value) ?? `${value}${axis.unit ?? ""}`, ...(axis.bare ? { tickSize: 0 } : {}) };
};

const chartPanel = ({ title = "", x, y, marks }, width, view) => {
  const label = (name) => view.panels.map((panel) => panel[name].label).find(Boolean); // panels of one row share it
  const left = y.ticks ? 34 + 7.5 * Math.max(...y.ticks.map(([, text]) => text.length)) : 44;
  const room = (width - left - 8) / Math.abs(x.high - x.low);
  const pointed = marks.flatMap((mark) => (mark.tips ? points(mark).map((one) => (mark.kind === "cells" ? { ...one, x: one.x + 0.5, y: one.y + 0.5 } : one)) : []));
  return Plot.plot({
    width, height: view.tall, marginLeft: left, marginRight: x.bare ? 8 : 52, marginBottom: 42, marginTop: 18, style: FONT, className: "plot",
    ariaLabel: title.replaceAll("\n", " "),
    x: axisOf(x, label("x"), width - left - 8),
    y: { ...axisOf(y, label("y"), Infinity), grid: !y.bare },
    marks: [...marks.flatMap((mark) => MARKS[mark.kind](mark, room)), Plot.tip(pointed, Plot.pointer({ ...AT, title: "tip", fontSize: 13, className: "tip" }))],
  });
};

const makePanels = (figure, view) => {
  const place = Object.assign(document.createElement("div"), { className: "chart" });
  const card = figure.querySelector(".card");
  card.before(Object.assign(document.createElement("p"), { className: "panel", textContent: card.getAttribute("aria-label") }), place);
  const positions = new Map(given.rows.map((row, n) => [row, n]));
  const draw = () => {
    const wide = place.clientWidth;
    const beside = Math.max(1, Math.min(view.panels.length, 4, Math.floor(wide / view.least)));
    place.style.setProperty("--beside", beside);
    const width = Math.floor(wide / beside) - (beside > 1 ? 8 : 0);
    place.replaceChildren(...view.panels.map((panel) => {
      const plot = chartPanel(panel, Math.min(width, view.widest ?? width), view);
      goTo(plot, (one) => rows[positions.get(one.row)]);
      return titled((panel.title ?? "").replaceAll("\n", " "), plot);
    }));
  };
  draw();
  card.remove();
  onResize(place, draw);
};

const makeExplorer = (place, table, columns, about) => {
  const cases = rows.map((row, n) => ({ row, n }));
  const several = Array.from(columns.keys()).filter((name) => distinct(columns.get(name).texts).length > 1);
  const numeric = several.filter((name) => isNumeric(columns.get(name)));
  const few = (most) => several.filter((name) => distinct(columns.get(name).texts).length <= most && !LESS.test(name));
  const parameters = about.parameters.filter((name) => several.includes(name));
  const union = (...lists) => Array.from(new Set(lists.flat()));
  const options = {
    x: union(parameters, few(CHOICES).filter((name) => name !== "status"), numeric),
    y: union(about.results.filter((name) => numeric.includes(name)), numeric.filter((name) => !parameters.includes(name))),
    colour: union(parameters.filter((name) => few(CHOICES).includes(name)), few(12).filter((name) => name !== "status"), [""]),
    panels: ["", ...few(6).filter((name) => name !== "status")],
  };
  const selects = Object.fromEntries(Object.keys(options).map((key) => [key, place.querySelector(`[name=${key}]`)]));
  for (const [key, names] of Object.entries(options)) {
    selects[key].append(...names.map((name) => new Option((about.heads[name] ?? name) || "none", name)));
    selects[key].closest("label").hidden = names.length < 2;
  }
  const chart = place.querySelector(".chart");
  const legend = place.querySelector(".legend");
  const output = place.querySelector("output");
  let where = {};

  const label = (name) => about.heads[name] ?? (about.units[name] ? `${name} (${about.units[name].replace("us", "µs")})` : name);
  const cell = (name, n) => columns.get(name)?.texts[n] ?? "";
  const described = (n) => [cell("kernel", n), ...parameters.filter((p) => p !== "kernel" && cell(p, n)).map((p) => `${p} ${cell(p, n)}`)].join(", ");
  const numbers = (n, names) => union(names, about.results.slice(0, 3)).filter((name) => cell(name, n)).map((name) => `${label(name)}: ${cell(name, n)}`);

  const chosen = () => Object.fromEntries(Object.entries(selects).map(([key, select]) => [key, select.value]));

  const draw = () => {
    const { x, y, colour, panels } = chosen();
    const [xs, ys, cs] = [x, y, colour].map((name) => columns.get(name));
    if (!xs || !ys) return;
    const byNumber = isNumeric(xs) && typeof xs.values.find((v) => v !== "") === "number";
    const shown = cases.filter(({ row, n }) => !row.hidden && xs.values[n] !== "" && typeof ys.values[n] === "number"
      && cell("status", n) === "ok" && Object.entries(where).every(([name, value]) => columns.get(name)?.values[n] === value));
    const better = LESS.test(y) ? d3.least : d3.greatest;
    const best = (of) => better(of, ({ n }) => ys.values[n]);
    const limit = ({ n }) => cell("ceiling", n) === "True";
    const series = (one) => (cs ? cs.texts[one.n] || "none" : "all");
    const at = ({ n }) => (byNumber ? xs.values[n] : xs.texts[n]);
    const groups = d3.groups(shown, ({ n }) => (panels ? cell(panels, n) : ""));
    groups.sort((a, b) => compare(valueOf(a[0]), valueOf(b[0])));

    // Those that win somewhere have a colour, then those that are best at the far end; the rest is grey.
    const ranked = shown.filter((one) => !limit(one));
    const contest = x === colour ? () => "" : at;
    const wins = d3.rollup(groups.flatMap(([, own]) => d3.groups(own.filter((one) => !limit(one)), contest)).map(([, own]) => best(own)).filter(Boolean), (own) => own.length, series);
    const names = Array.from(d3.group(ranked, series).keys());
    const last = d3.greatest(ranked, ({ n }) => (byNumber ? xs.values[n] : n));
    const end = new Map(names.map((name) => [name, ys.values[best(ranked.filter((one) => series(one) === name && (!last || contest(one) === contest(last))))?.n] ?? (better === d3.least ? Infinity : -Infinity)]));
    names.sort((a, b) => (wins.get(b) ?? 0) - (wins.get(a) ?? 0) || (better === d3.least ? 1 : -1) * (end.get(a) - end.get(b)));
    const coloured = new Set(names.slice(0, Math.max(SHOWN_SERIES, wins.size)));
    const every = cs ? distinct(cs.texts) : ["all"];
    const looks = new Map(every.filter((name) => coloured.has(name)).map((name, place) => [name, { colour: `var(--c${place % 7})`, symbol: SYMBOLS[place % SYMBOLS.length] }]));
    const look = (one) => (!limit(one) && looks.get(series(one))) || { colour: "var(--faint)", symbol: SYMBOLS[0] };

    const comparable = MORE.test(y) || LESS.test(y);
    const extent = d3.extent(shown, ({ n }) => ys.values[n]);
    // A limit far above all cases would press them flat; the words below the chart name it instead.
    const [limits, above] = [true, false].map((near) => Object.entries(about.limits[y] ?? {}).filter(([, value]) => near === value <= 2.5 * (extent[1] ?? 1)));
    const logY = LESS.test(y) && extent[0] > 0 && extent[1] > 4 * extent[0];
    const top = Math.max(extent[1] ?? 1, ...limits.map(([, value]) => value));
    const yDomain = logY ? [extent[0] / 1.15, extent[1] * 1.15] : [Math.min(0, extent[0] ?? 0), top * 1.05];
    const xValues = distinct(shown.map(at));
    const logX = byNumber && Math.min(...xValues) > 0 && Math.max(...xValues) >= 8 * Math.min(...xValues);
    const bests = x === "kernel" && comparable ? d3.rollup(shown, (own) => ys.values[best(own).n] * (better === d3.least ? 1 : -1), at) : null;
    const order = byNumber ? undefined : xValues.sort((a, b) => (bests ? bests.get(a) - bests.get(b) : compare(valueOf(a), valueOf(b))));
    const wide = place.querySelector(".chart").clientWidth;
    const beside = groups.length > 1 && wide > 640 ? 2 : 1;
    const width = Math.floor(wide / beside) - (beside > 1 ? 8 : 0);
    const crowded = order && d3.sum(order, (text) => text.length + 2) * 7.5 > width - 80;
    const longest = order ? Math.max(...order.map((text) => text.length)) : 0;
    const skip = Math.ceil(xValues.length / (width / 62));
    const few = byNumber && xValues.length <= (logX ? 40 : 8); // then every value is a tick
    const ticks = few ? d3.sort(xValues).filter((_, n) => n % skip === 0) : undefined;
    chart.style.setProperty("--beside", beside);
    chart.replaceChildren(...groups.map(([title, own]) => {
      const lines = comparable ? d3.groups(own, series).flatMap(([, of]) => d3.groups(of, at).map(([, same]) => best(same))) : [];
      lines.sort((a, b) => compare(at(a), at(b)));
      const tip = ({ n }) => [described(n), ...numbers(n, [y, x])].join("\n");
      const axes = { x: at, y: ({ n }) => ys.values[n] };
      const strokes = { ...axes, z: (one) => series(one) + limit(one), stroke: (one) => look(one).colour };
      const plot = Plot.plot({
        width, height: Math.max(260, Math.min(440, 0.55 * width)) + (crowded ? 5 * longest : 0),
        marginLeft: 58, marginRight: 24, marginBottom: crowded ? 44 + 5.5 * Math.min(longest, 24) : 44, marginTop: 26, className: "plot",
        style: FONT,
        ariaLabel: `${label(y)} by ${label(x)}${title && `, ${panels} ${title}`}`,
        x: { label: label(x), labelAnchor: "center", labelArrow: "none", type: order ? "point" : logX ? "log" : "linear", base: logX ? 2 : undefined, domain: order, ticks, tickFormat: order ? (text) => (text.length > 24 ? `${text.slice(0, 23)}…` : text) : few || logX ? inWords : undefined, tickRotate: crowded ? -40 : 0, inset: 10 },
        y: { label: `${label(y)}${LESS.test(y) ? ", less is better" : MORE.test(y) ? ", more is better" : ""}`, labelArrow: "none", type: logY ? "log" : "linear", domain: yDomain, grid: true, tickFormat: logY ? (value) => (/^[125]/.test(value.toPrecision(1)) ? d3.format(",~g")(value) : "") : d3.format(",~g"), ticks: 6 },
        marks: [
          ...limits.flatMap(([name, value]) => [
            Plot.ruleY([value], { stroke: "var(--pale)", strokeDasharray: name === "peak" ? "1,3" : "5,3" }),
            Plot.text([value], { y: Number, frameAnchor: "left", dx: 4, dy: -7, textAnchor: "start", fill: "var(--pale)", text: (v) => `${name} ${d3.format(",.0f")(v)} ${about.units[y] ?? ""}` }),
          ]),
          Plot.dot(own, { ...axes, r: 2, className: "cases", fill: (one) => look(one).colour, fillOpacity: 0.45 }),
          Plot.line(lines.filter((one) => !looks.has(series(one)) || limit(one)), { ...strokes, strokeWidth: 1, strokeDasharray: "6,3" }),
          Plot.line(lines.filter((one) => looks.has(series(one)) && !limit(one)), { ...strokes, strokeWidth: 1.8 }),
          Plot.dot(lines, { ...axes, r: 4, symbol: (one) => look(one).symbol, fill: (one) => look(one).colour }),
          Plot.dot(own, Plot.pointer({ ...axes, r: 7, stroke: "currentColor", strokeWidth: 1.5 })),
          Plot.tip(own, Plot.pointer({ ...axes, title: tip, fontSize: 13, lineWidth: 30, className: "tip" })),
        ],
      });
      const go = () => {
        if (plot.value) location.hash = plot.value.row.id;
      };
      plot.addEventListener("input", () => {
        if (!plot.value) return;
        const link = document.createElement("a");
        link.href = `#${plot.value.row.id}`;
        link.textContent = described(plot.value.n);
        output.replaceChildren(link, `: ${numbers(plot.value.n, [y]).join(", ")}`);
      });
      plot.addEventListener("click", (event) => event.pointerType !== "touch" && go());
      return titled(panels && (title ? `${panels} ${title}` : `no ${panels}`), plot);
    }));
    const sign = (one) => `<svg width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true"><path d="${d3.symbol(one.symbol, 55)()}" style="fill:${one.colour}"/></svg>`;
    const entry = (text, one) => {
      const item = document.createElement("li");
      item.innerHTML = sign(one); // of our own making
      item.append(text);
      return item;
    };
    const grey = names.length - Array.from(looks.keys()).length;
    const ceilings = Array.from(new Set(shown.filter(limit).map(series)));
    legend.replaceChildren(
      ...(x === colour ? [] : colour === "kernel" ? names : names.sort((a, b) => compare(valueOf(a), valueOf(b)))).filter((name) => looks.has(name)).map((name) => entry(colour === "kernel" || !cs ? name : `${colour} ${name}`, looks.get(name))),
      ...(grey > 0 ? [entry(`${grey} more, nowhere the fastest`, { colour: "var(--faint)", symbol: SYMBOLS[0] })] : []),
      ...ceilings.map((name) => entry(`${name} (ceiling)`, { colour: "var(--faint)", symbol: SYMBOLS[0] })),
    );
    const fixed = Object.entries(where).filter(([name]) => several.includes(name)).map(([name, value]) => `${name} ${inWords(value)}`);
    place.querySelector(".said").textContent = `${shown.length.toLocaleString("en")} cases${fixed.length ? ` with ${fixed.join(", ")}` : ""}${comparable ? (x === colour ? "; large: the best of each" : "; lines join the best of each") : ""}${above.map(([name, value]) => `; the ${name}, ${d3.format(",.0f")(value)} ${about.units[y] ?? ""}, is far above`).join("")}. Hover shows a case, a click leads to its row; the filter of the table holds here, too.`;
  };

  const show = (view, button) => {
    where = view.where;
    for (const key of ["x", "y"]) if (options[key].includes(view[key])) selects[key].value = view[key];
    selects.colour.value = options.colour.includes("kernel") ? "kernel" : options.colour.find((name) => name !== view.x);
    selects.panels.value = options.panels.includes(view.panels) ? view.panels : "";
    for (const other of place.querySelectorAll(".views button")) other.setAttribute("aria-pressed", String(other === button));
    draw();
  };
  const buttons = about.views.map((view) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: view.title });
    button.addEventListener("click", () => show(view, button));
    return button;
  });
  place.querySelector(".views").append(...buttons);
  place.querySelector(".views").hidden = buttons.length < 2;
  for (const select of Object.values(selects)) {
    select.addEventListener("change", () => {
      where = {};
      for (const button of buttons) button.setAttribute("aria-pressed", "false");
      draw();
    });
  }
  place.hidden = false;
  show(about.views[0], buttons[0]);
  for (const figure of document.querySelectorAll("#times > figure:not(#explorer)")) figure.hidden = true;
  onResize(chart, draw);
  table.addEventListener("filtered", draw);
};
