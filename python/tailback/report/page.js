"use strict";
// Draws the document in #data. One state, one function that shows it: a filter or a click changes the state and redraws.
const data = JSON.parse(document.getElementById("data").textContent);
const dashes = [[], [8, 4], [2, 3], [8, 3, 2, 3], [14, 4], [14, 3, 2, 3, 2, 3], [4, 4], [20, 6]];
const state = {
  wanted: Object.fromEntries(Object.entries(data.axes).map(([axis, values]) => [axis, new Set(values)])),
  muted: new Set(),
  sorted: { column: null, ascending: true },
  metric: Math.max(0, data.columns.findIndex(({ title }) => title === data.about)),
  quantity: Object.keys(data.figures.distributions)[0],
};
const look = data.configurations.map((_, at) => ({
  colour: data.colours[at % data.colours.length],
  dash: dashes[Math.floor(at / data.colours.length) % dashes.length],
}));
const chosen = () => data.configurations.map((_, at) => at).filter((at) =>
  Object.entries(data.configurations[at].axes).every(([axis, value]) => state.wanted[axis].has(value)));
const shown = () => chosen().filter((at) => !state.muted.has(at));
const label = (at) => {
  // What all of them have in common need not be said of each.
  const parts = Object.entries(data.configurations[at].axes).filter(([axis]) => data.axes[axis].length > 1);
  return parts.map(([, value]) => value).join(", ") || data.configurations[at].label;
};
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Three significant digits.
function decimals(value) {
  return value ? Math.min(12, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))) : 0;
}

function number(value, digits = decimals(value)) {
  return value === null ? "–" : value.toFixed(digits).replace("-", "−");
}

// One number of digits for a column: three of its smallest value, but at most two more than its largest has.
function digitsOf(column) {
  const sizes = data.configurations.map(({ cells }) => Math.abs(cells[column][0] ?? 0)).filter((size) => size > 0);
  return sizes.length ? Math.min(decimals(Math.min(...sizes)), decimals(Math.max(...sizes)) + 2) : 0;
}

// Both ends, because an interval that ends where the possible values end is not symmetric.
function spread(low, high, digits) {
  return "[" + number(low, digits) + ", " + number(high, digits) + "]";
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
    const cell = element("th", { className: heading.axis ? "axis" : "", tabIndex: 0 }, heading.axis ? breakable(heading.title) : heading.title);
    if (heading.unit) cell.append(element("small", { textContent: heading.unit }));
    if (state.sorted.column === at) cell.setAttribute("aria-sort", state.sorted.ascending ? "ascending" : "descending");
    cell.onclick = () => {
      state.sorted = { column: at, ascending: state.sorted.column === at ? !state.sorted.ascending : true };
      showTable();
    };
    cell.onkeydown = (event) => { if (event.key === "Enter") cell.onclick(); };
    head.append(cell);
  });
  const body = element("tbody"), digits = data.columns.map((_, column) => digitsOf(column));
  for (const at of inOrder(axes)) {
    const found = data.configurations[at];
    const row = element("tr", { className: state.muted.has(at) ? "muted" : "" });
    axes.forEach((axis, place) => {
      const cell = element("td", { className: "axis" });
      if (place === 0) cell.append(dot(at));
      cell.append(breakable(found.axes[axis]));
      row.append(cell);
    });
    found.cells.forEach(([mean, low, high], column) => {
      const cell = element("td", {}, number(mean, digits[column]));
      if (high !== null) cell.append(element("small", { textContent: spread(low, high, digits[column]) }));
      row.append(cell);
    });
    row.onclick = () => { if (!state.muted.delete(at)) state.muted.add(at); show(); };
    body.append(row);
  }
  document.getElementById("table").replaceChildren(element("thead", {}, head), body);
}

// Long names may be broken after their parts, short ones nowhere: `links[0].` `driver.` `airtime_flags`.
function breakable(name) {
  return name.length > 14 ? name.replace(/([._\]/-])(?=\w)/g, "$1\u200b") : name.replace(/ /g, "\u00a0");
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

{% include 'figures.js' %}

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
