// The three figures. The curves are uPlot's; the dots with their intervals are drawn as SVG.
const INK = "#1a1f24", GRID = "#e9edf0", TICK = "#c9d1d8", OUTSIDE = "#f0f2f4";
const FONT = '12px system-ui, "DejaVu Sans", sans-serif';
const faded = (colour) => colour + "2e";
// The drawn charts by figure. A chart has one series per configuration that is shown, after the edges of its band.
const charts = { time: [], distribution: [] };

const spansDecades = (values) => {
  const positive = values.filter((value) => value > 0);
  return positive.length === values.length && positive.length > 0 && Math.max(...positive) > 20 * Math.min(...positive);
};
const titled = ({ title, unit }) => (unit ? `${title} (${unit})` : title);
const traced = () => chosen().filter((at) => at < data.traced);

function drawing(name, properties, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// The numbers of a logarithmic axis from `low` to `high`: as many as fit, at least two, from the coarsest kind that has
// enough: powers of ten, further digits of each decade, or numbers at equal distances.
function readable(low, high, most = 8) {
  const powers = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) powers.push(10 ** power);
  const inside = (mark) => low <= mark && mark <= high;
  const kinds = [[1], [1, 3], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]].map((digits) => powers.flatMap((power) => digits.map((digit) => Number((digit * power).toPrecision(3)))).filter(inside));
  const fitting = kinds.filter((kind) => kind.length >= 2 && kind.length <= most);
  if (fitting.length) return fitting.reduce((best, kind) => (kind.length > best.length ? kind : best));
  if (kinds[0].length > most) return kinds[0].filter((_, place) => place % Math.ceil(kinds[0].length / most) === 0);
  return ticks(low, high, 4).filter(inside);
}

const plain = (value) => String(Number(value.toPrecision(6)));

// Round numbers from below `low` to above `high`: about `count` of them.
function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= rough);
  return Array.from({ length: Math.ceil(high / step - 1e-9) - Math.floor(low / step + 1e-9) + 1 },
    (_, place) => (Math.floor(low / step + 1e-9) + place) * step);
}

function showCompared() {
  const column = data.columns[state.metric];
  const rows = shown().filter((at) => data.configurations[at].cells[state.metric][0] !== null);
  const cells = rows.map((at) => data.configurations[at].cells[state.metric]);
  const figure = document.getElementById("compared");
  figure.replaceChildren();
  if (!rows.length) return;
  const log = spansDecades(cells.map(([mean]) => mean));
  const values = cells.flatMap(([mean, low, high]) => [mean, low ?? mean, high ?? mean]).filter((value) => !log || value > 0);
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  const marks = log ? readable(least / 1.2, greatest * 1.2) : ticks(Math.min(least, 0), greatest, 8);
  const names = rows.map(label);
  const left = Math.min(340, Math.max(120, 0.45 * figure.clientWidth), 20 + 6.6 * Math.max(...names.map((name) => name.length)));
  const longest = Math.ceil((left - 20) / 6.6 - 0.01);
  const width = Math.max(left + 150, figure.clientWidth), height = 54 + 23 * rows.length;
  const scale = log ? Math.log10 : (value) => value;
  const ends = log ? [least / 1.2, greatest * 1.2] : [marks[0], marks[marks.length - 1]];
  const [first, last] = ends.map(scale);
  const x = (value) => left + (width - 30 - left) * (scale(Math.max(value, log ? ends[0] : value)) - first) / (last - first || 1);
  const digits = digitsOf(state.metric);
  const every = Math.ceil(marks.length * 46 / (width - 30 - left));
  const picture = drawing("svg", { width, height, role: "img", "aria-label": titled(column) });
  for (const mark of marks) {
    picture.append(drawing("line", { x1: x(mark), x2: x(mark), y1: 6, y2: height - 44, stroke: mark ? GRID : TICK }));
    picture.append(drawing("text", { x: x(mark), y: height - 28, "text-anchor": "middle" }, marks.indexOf(mark) % every ? "" : plain(mark)));
  }
  rows.forEach((at, place) => {
    const [mean, low, high] = cells[place];
    const y = 18 + 23 * place;
    const name = names[place].length > longest ? names[place].slice(0, longest - 1) + "…" : names[place];
    const row = drawing("g", { class: "row" }, drawing("title", {}, `${names[place]}: ${number(mean, digits)} ${column.unit} ${high === null ? "" : spread(low, high, digits)}`));
    row.append(drawing("text", { x: left - 12, y: y + 4, "text-anchor": "end" }, name));
    if (high !== null && high > low) {
      const ends = `M${x(low)} ${y - 4}V${y + 4}M${x(low)} ${y}H${x(high)}M${x(high)} ${y - 4}V${y + 4}`;
      row.append(drawing("path", { d: ends, stroke: "#4b545c", "stroke-width": 1.4, fill: "none" }));
    }
    row.append(drawing("circle", { cx: x(mean), cy: y, r: 4.5, fill: look[at].colour, stroke: "#fff" }));
    picture.append(row);
  });
  picture.append(drawing("text", { x: (left + width - 30) / 2, y: height - 6, "text-anchor": "middle" }, titled(column)));
  figure.append(picture);
}

// The series of configurations, each with the edges of its band, over the union of their samples.
function curves(rows, samples) {
  const tables = rows.map((at) => samples(at));
  const series = [{}], bands = [];
  rows.forEach((at, place) => {
    const { colour, dash } = look[at];
    const show = !state.muted.has(at);
    const edge = { scale: "y", show, width: 0, points: { show: false }, stroke: "transparent" };
    const low = 3 * place + 1;
    series.push(edge, { ...edge }, { scale: "y", label: label(at), show, stroke: colour, dash, width: 1.7, points: { show: false }, at });
    bands.push({ series: [low + 1, low], fill: faded(colour) });
  });
  return { series, bands, values: tables.length ? uPlot.join(tables) : [[]] };
}

function axis(title, rest = {}) {
  return { stroke: INK, font: FONT, labelFont: FONT, label: title, labelSize: 22, grid: { stroke: GRID, width: 1 }, ticks: { stroke: TICK, width: 1 }, ...rest };
}

// The numbers of a logarithmic axis of uPlot, whose own are powers of ten only.
const LOGARITHMIC = {
  splits: (_chart, _axis, low, high) => readable(low, high),
  filter: (_chart, marks) => marks,
  values: (_chart, marks) => marks.map(plain),
};

// Shades what is outside of the measurement window.
function shadeOutside(chart) {
  const { ctx, bbox } = chart;
  const edges = [0, ...data.window, Infinity].map((at) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, chart.valToPos(Math.min(at, chart.scales.x.max), "x", true))));
  ctx.save();
  ctx.fillStyle = OUTSIDE;
  ctx.fillRect(edges[0], bbox.top, edges[1] - edges[0], bbox.height);
  ctx.fillRect(edges[2], bbox.top, edges[3] - edges[2], bbox.height);
  ctx.restore();
}

// Zooming one panel zooms all.
function zoomTogether(chart) {
  const { min, max } = chart.scales.x;
  for (const other of charts.time) {
    if (other !== chart && (other.scales.x.min !== min || other.scales.x.max !== max)) other.setScale("x", { min, max });
  }
}

function showLegend(id, rows) {
  const legend = document.getElementById(id);
  legend.replaceChildren(...rows.map((at) => {
    const mark = drawing("svg", { width: 26, height: 10 }, drawing("path", { d: "M0 5H26", stroke: look[at].colour, "stroke-width": 2, "stroke-dasharray": look[at].dash.join(" ") }));
    const button = element("button", { type: "button", title: "Switch on and off" }, mark, label(at), element("output"));
    button.setAttribute("aria-pressed", !state.muted.has(at));
    button.onclick = () => { if (!state.muted.delete(at)) state.muted.add(at); show(); };
    return button;
  }));
}

// Says beside each name in the legend what the curves have under the cursor.
function sayValues(id, figure) {
  const said = [...document.querySelectorAll(`#${id} output`)];
  const drawn = charts[figure];
  const place = drawn.length ? drawn[0].cursor.idx : null;
  said.forEach((output, row) => {
    const values = drawn.map((chart) => (place === null || place === undefined ? null : chart.data[3 * row + 3]?.[place] ?? null));
    output.textContent = values.every((value) => value === null) ? "" : values.map((value) => number(value)).join(" · ");
  });
}

function redraw(figure, make) {
  const box = document.getElementById(figure);
  charts[figure].forEach((chart) => chart.destroy());
  charts[figure] = make(box);
}

function showTime() {
  const figures = Object.values(data.figures.series);
  document.getElementById("time-card").hidden = !figures.length;
  if (!figures.length) return;
  const rows = traced();
  showLegend("time-legend", rows);
  redraw("time", (box) => figures.map((figure, place) => {
    const lowest = place === figures.length - 1;
    const { series, bands, values } = curves(rows, (at) => {
      const { t, mean, low, high } = figure.configurations[at];
      return [t, low, high, mean];
    });
    return new uPlot({
      width: box.clientWidth, height: lowest ? 232 : 205, series, bands, legend: { show: false },
      scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.05] } },
      axes: [axis(lowest ? "Time (s)" : "", lowest ? {} : { values: (_, marks) => marks.map(() => ""), size: 8, labelSize: 0 }), axis(titled(figure), { scale: "y", size: 62 })],
      cursor: { sync: { key: "time" }, y: false, points: { size: 6 } },
      hooks: { drawClear: [shadeOutside], setScale: [(chart, key) => { if (key === "x") zoomTogether(chart); }], setCursor: [() => sayValues("time-legend", "time")] },
    }, values, box);
  }));
}

function showDistribution() {
  const figure = data.figures.distributions[state.quantity];
  document.getElementById("distribution-card").hidden = !figure;
  if (!figure) return;
  const rows = traced();
  showLegend("distribution-legend", rows);
  const medians = rows.map((at) => figure.configurations[at].value[50]).filter((value) => value !== undefined);
  // The share runs upwards and the values to the right, so each share has one value and one band.
  const { series, bands, values } = curves(rows, (at) => {
    const { share, value, low, high } = figure.configurations[at];
    return [share, low, high, value];
  });
  const log = spansDecades(medians);
  redraw("distribution", (box) => [new uPlot({
    width: box.clientWidth, height: 400, series, bands, legend: { show: false },
    scales: {
      x: { time: false, ori: 1, range: [0, 1.02] },
      y: { ori: 0, distr: log ? 3 : 1, range: (_, low, high) => (log ? [(low || 1e-3) / 1.1, (high || 1) * 1.1] : [Math.min(low ?? 0, 0), (high || 1) * 1.02]) },
    },
    axes: [axis("Cumulative share", { side: 3, size: 54 }), axis(titled(figure), { scale: "y", side: 2, size: 40, ...(log ? LOGARITHMIC : {}) })],
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    hooks: { setCursor: [() => sayValues("distribution-legend", "distribution")] },
  }, values, box)]);
}

new ResizeObserver(() => {
  showCompared();
  for (const [figure, drawn] of Object.entries(charts)) {
    const width = document.getElementById(figure).clientWidth;
    drawn.forEach((chart) => { if (width && chart.width !== width) chart.setSize({ width, height: chart.height }); });
  }
}).observe(document.querySelector("main"));
