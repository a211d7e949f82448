"use strict";
// Draws the document in #data. One state, one function that shows it: a filter or a click changes the state and redraws.
const data = JSON.parse(document.getElementById("data").textContent);
const dashes = ["solid", "dash", "dot", "dashdot"];
const state = {
  wanted: Object.fromEntries(Object.entries(data.axes).map(([axis, values]) => [axis, new Set(values)])),
  muted: new Set(),
  sorted: { column: null, ascending: true },
  // Links are full in most experiments; what differs is the delay.
  metric: Math.max(0, data.columns.findIndex(({ title }) => title === "TCP RTT p50")),
  quantity: Object.keys(data.figures.distributions)[0],
};
const look = data.configurations.map((_, at) => ({
  colour: data.colours[at % data.colours.length],
  dash: dashes[Math.floor(at / data.colours.length) % dashes.length],
}));
const plain = { displaylogo: false, responsive: true, toImageButtonOptions: { format: "svg" } };
const font = { family: 'system-ui, "DejaVu Sans", sans-serif', size: 12, color: "#1a1f24" };
const line = { gridcolor: "#e9edf0", zerolinecolor: "#c9d1d8", linecolor: "#8c959d", ticks: "outside", tickcolor: "#c9d1d8" };

const chosen = () => data.configurations.map((_, at) => at).filter((at) =>
  Object.entries(data.configurations[at].axes).every(([axis, value]) => state.wanted[axis].has(value)));
const shown = () => chosen().filter((at) => !state.muted.has(at));
// Figures read text as markup of their own: `<b>`, `<a href=...>`, `&amp;`.
const unmarked = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const label = (at) => {
  // What all of them have in common need not be said of each.
  const parts = Object.entries(data.configurations[at].axes).filter(([axis]) => data.axes[axis].length > 1);
  return unmarked(parts.map(([, value]) => value).join(", ") || data.configurations[at].label);
};
const faded = (colour) => colour + "2e";

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Three digits in all, but not more than three after the point.
function decimals(value) {
  return value ? Math.min(3, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))) : 0;
}

function number(value, digits = decimals(value)) {
  return value === null ? "–" : value.toFixed(digits).replace("-", "−");
}

// An interval that ends where the possible values end is not symmetric.
function spread(mean, low, high) {
  const digits = decimals(mean);
  const even = Math.abs(high - mean - (mean - low)) <= 1e-9 * Math.max(Math.abs(mean), high - low);
  return even ? "±" + number(high - mean, digits) : "[" + number(low, digits) + ", " + number(high, digits) + "]";
}

function showFilters() {
  const nav = document.getElementById("filters");
  nav.replaceChildren();
  for (const [axis, values] of Object.entries(data.axes)) {
    if (values.length < 2) continue;
    const group = element("div", { className: "axis" }, element("span", { className: "name", textContent: axis }));
    for (const value of values) {
      const button = element("button", { textContent: value, type: "button" });
      button.dataset.axis = axis;
      button.dataset.value = value;
      button.setAttribute("aria-pressed", state.wanted[axis].has(value));
      button.onclick = () => {
        const wanted = state.wanted[axis];
        if (wanted.has(value)) wanted.delete(value); else wanted.add(value);
        // Nothing left means everything: an empty page helps nobody.
        if (!wanted.size) values.forEach((each) => wanted.add(each));
        show();
      };
      group.append(button);
    }
    nav.append(group);
  }
  const count = `${chosen().length} of ${data.configurations.length} configurations`;
  nav.append(element("span", { className: "count", id: "count", textContent: count }));
}

function showTable() {
  const axes = Object.keys(data.axes);
  const headings = [...axes.map((axis) => ({ title: axis, unit: "", axis: true })), ...data.columns];
  const head = element("tr");
  headings.forEach((heading, at) => {
    const cell = element("th", { className: heading.axis ? "axis" : "", tabIndex: 0 }, heading.title);
    if (heading.unit) cell.append(element("small", { textContent: heading.unit }));
    if (state.sorted.column === at) cell.setAttribute("aria-sort", state.sorted.ascending ? "ascending" : "descending");
    cell.onclick = () => {
      state.sorted = { column: at, ascending: state.sorted.column === at ? !state.sorted.ascending : true };
      showTable();
    };
    cell.onkeydown = (event) => { if (event.key === "Enter") cell.onclick(); };
    head.append(cell);
  });
  const body = element("tbody");
  for (const at of inOrder(axes)) {
    const found = data.configurations[at];
    const row = element("tr", { className: state.muted.has(at) ? "muted" : "" });
    axes.forEach((axis, place) => {
      const cell = element("td", { className: "axis" });
      if (place === 0) cell.append(dot(at));
      cell.append(found.axes[axis]);
      row.append(cell);
    });
    found.cells.forEach(([mean, low, high]) => {
      const cell = element("td", {}, number(mean));
      if (high !== null && high !== mean) cell.append(" ", element("small", { textContent: spread(mean, low, high) }));
      row.append(cell);
    });
    row.onclick = () => { if (!state.muted.delete(at)) state.muted.add(at); show(); };
    body.append(row);
  }
  document.getElementById("table").replaceChildren(element("thead", {}, head), body);
}

function dot(at) {
  const made = element("span", { className: "dot" });
  made.style.background = look[at].colour;
  return made;
}

function inOrder(axes) {
  const { column, ascending } = state.sorted;
  const rows = chosen();
  if (column === null) return rows;
  const key = (at) => {
    const found = data.configurations[at];
    if (column >= axes.length) return found.cells[column - axes.length][0] ?? -Infinity;
    return data.axes[axes[column]].indexOf(found.axes[axes[column]]);
  };
  return rows.sort((one, other) => (key(one) - key(other)) * (ascending ? 1 : -1));
}

function spansDecades(values) {
  const positive = values.filter((value) => value > 0);
  return positive.length === values.length && positive.length && Math.max(...positive) > 20 * Math.min(...positive);
}

function showCompared() {
  const column = data.columns[state.metric];
  const rows = shown().filter((at) => data.configurations[at].cells[state.metric][0] !== null);
  const cells = rows.map((at) => data.configurations[at].cells[state.metric]);
  const trace = {
    type: "scatter", mode: "markers", x: cells.map(([mean]) => mean), y: rows.map(label),
    marker: { color: rows.map((at) => look[at].colour), size: 9, line: { color: "#fff", width: 1 } },
    error_x: {
      type: "data", symmetric: false, color: "#4b545c", thickness: 1.4, width: 4,
      array: cells.map(([mean, , high]) => (high ?? mean) - mean), arrayminus: cells.map(([mean, low]) => mean - (low ?? mean)),
    },
    hovertemplate: "%{y}<br>%{x:.4g} " + column.unit + "<extra></extra>",
  };
  const title = { text: column.unit ? `${column.title} (${column.unit})` : column.title };
  const scale = spansDecades(cells.map(([mean]) => mean)) ? { type: "log", dtick: 1 } : { rangemode: "tozero" };
  const box = document.getElementById("compared");
  const height = Math.max(220, 80 + 23 * rows.length);
  box.style.height = height + "px";
  Plotly.react(box, [trace], {
    height, font, margin: { l: 10, r: 20, t: 10, b: 50 }, xaxis: { ...line, ...scale, title },
    yaxis: { ...line, autorange: "reversed", automargin: true, type: "category" }, showlegend: false,
  }, plain);
}

const traced = () => shown().filter((at) => at < data.traced);

function banded(at, x, y, low, high, rest) {
  const { colour, dash } = look[at];
  const group = { legendgroup: String(at), ...rest };
  const traces = [];
  if (low.some((value) => value !== null)) {
    // Two outlines that are not drawn, and what is between them.
    const edge = { type: "scatter", mode: "lines", line: { width: 0 }, hoverinfo: "skip", ...group, showlegend: false };
    traces.push({ ...edge, ...(rest.sideways ? { x: low, y } : { x, y: low }) });
    traces.push({ ...edge, ...(rest.sideways ? { x: high, y } : { x, y: high }), fill: rest.sideways ? "tonextx" : "tonexty", fillcolor: faded(colour) });
  }
  traces.push({ type: "scatter", mode: "lines", x, y, name: label(at), line: { color: colour, dash, width: 1.7 }, ...group });
  traces.forEach((trace) => delete trace.sideways);
  return traces;
}

function showTime() {
  const names = Object.keys(data.figures.series);
  const traces = [];
  const layout = { font, margin: { l: 64, r: 20, t: 10, b: 46 }, legend: { orientation: "h", y: -0.08 }, hovermode: "x unified", shapes: [] };
  const height = 1 / names.length;
  names.forEach((name, place) => {
    const figure = data.figures.series[name];
    const key = place ? String(place + 1) : "";
    for (const at of traced()) {
      const { t, mean, low, high } = figure.configurations[at];
      traces.push(...banded(at, t, mean, low, high, { xaxis: "x" + key, yaxis: "y" + key, showlegend: place === 0 }));
    }
    const top = 1 - place * height;
    layout["yaxis" + key] = { ...line, domain: [top - height + 0.035, top], title: { text: `${figure.title} (${figure.unit})` }, rangemode: "tozero" };
    layout["xaxis" + key] = {
      ...line, anchor: "y" + key, ...(place ? { matches: "x" } : {}), showticklabels: place === names.length - 1,
      title: { text: place === names.length - 1 ? "Time (s)" : "" },
    };
    for (const [from, to] of [[0, data.window[0]], [data.window[1], end(figure)]]) {
      if (to > from) layout.shapes.push({ type: "rect", xref: "x" + key, yref: `y${key} domain`, x0: from, x1: to, y0: 0, y1: 1, fillcolor: "#f0f2f4", line: { width: 0 }, layer: "below" });
    }
  });
  document.getElementById("time-card").hidden = !names.length;
  if (names.length) Plotly.react("time", traces, layout, plain);
}

const end = (figure) => Math.max(...figure.configurations.map(({ t }) => t[t.length - 1]));

function showDistribution() {
  const figure = data.figures.distributions[state.quantity];
  document.getElementById("distribution-card").hidden = !figure;
  if (!figure) return;
  const traces = traced().flatMap((at) => {
    const { share, value, low, high } = figure.configurations[at];
    return banded(at, value, share, low, high, { sideways: true });
  });
  const medians = traced().map((at) => figure.configurations[at].value[50]);
  Plotly.react("distribution", traces, {
    font, margin: { l: 64, r: 20, t: 10, b: 50 }, legend: { orientation: "h", y: -0.2 },
    xaxis: { ...line, title: { text: `${figure.title} (${figure.unit})` }, type: spansDecades(medians) ? "log" : "linear", dtick: spansDecades(medians) ? 1 : undefined },
    yaxis: { ...line, title: { text: "Cumulative share" }, range: [0, 1.02] },
  }, plain);
}

function show() {
  showFilters();
  showTable();
  showCompared();
  showTime();
  showDistribution();
}

function fill(select, options, chosen, set) {
  options.forEach(([value, text]) => select.append(element("option", { value, textContent: text, selected: value === chosen })));
  select.onchange = () => set(select.value);
}

fill(document.getElementById("metric"), data.columns.map(({ title }, at) => [at, title]), state.metric, (value) => { state.metric = Number(value); showCompared(); });
fill(document.getElementById("quantity"), Object.entries(data.figures.distributions).map(([name, { title }]) => [name, title]), state.quantity, (value) => { state.quantity = value; showDistribution(); });
show();
document.body.dataset.ready = "true";
