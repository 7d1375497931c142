// Charts of a GetSeriesResponse, as SVG. Each has a text that says the same.
import { h, svg } from "./dom.js";
import { clock, grouped, seconds } from "./text.js";

// What was measured: without the time before the first point, but at least two minutes.
export function measured(data) {
  const names = Object.keys(data).filter((name) => Array.isArray(data[name]));
  const first = Math.max(0, ...names.slice(0, 1).map((name) =>
    Math.min(data[name].findIndex((value) => value >= 0), data[name].length - 12)));
  return Object.fromEntries(Object.entries(data).map(([name, value]) =>
    [name, Array.isArray(value) ? value.slice(first) : value]));
}

const known = (values) => values.filter((value) => value >= 0);

// The points of each unbroken stretch; -1 was not measured.
function stretches(values) {
  const all = [];
  let current = null;
  values.forEach((value, i) => {
    if (!(value >= 0)) {
      current = null;
      return;
    }
    if (!current) all.push(current = []);
    current.push([i, value]);
  });
  return all;
}

function paths(values, width, height, top, name) {
  const x = (i) => (i * width / Math.max(values.length - 1, 1)).toFixed(1);
  const y = (value) => (height - value / top * height).toFixed(1);
  return stretches(values).flatMap((points) => {
    const line = "M" + points.map(([i, value]) => `${x(i)} ${y(value)}`).join("L");
    if (points.length === 1) {
      return [svg("circle", { cx: x(points[0][0]), cy: y(points[0][1]), r: 1.5, class: name })];
    }
    const area = `${line}L${x(points.at(-1)[0])} ${height}L${x(points[0][0])} ${height}Z`;
    return [svg("path", { d: area, class: name + " area" }),
      svg("path", { d: line, class: name + " line" })];
  });
}

function summary(values, form) {
  const seen = known(values);
  if (seen.length === 0) return "nothing was measured yet";
  const mean = seen.reduce((sum, value) => sum + value, 0) / seen.length;
  const last = values.at(-1) >= 0 ? `now ${form(values.at(-1))}, ` : "";
  return `${last}mean ${form(mean)}, highest ${form(Math.max(...seen))}`;
}

// A small chart within a table.
export function spark(label, values, form, name) {
  const top = Math.max(...known(values), 1e-9);
  return svg("svg", { viewBox: "0 -2 120 32", class: "spark", role: "img", "aria-label":
    `${label} in the last hour: ${summary(values, form)}`, preserveAspectRatio: "none" },
  paths(values, 120, 28, top, name));
}

// 1, 2 or 5 times a power of ten.
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((step) => step * power >= value * 0.999) * power;
}

const handy = [1, 2, 4, 10, 20, 30, 60, 120, 240, 600, 1200, 1800, 3600, 7200, 14400, 43200,
  86400, 172800];
const roundSeconds = (value) => (value <= 1 ? roundUp(value)
  : handy.find((step) => step >= value) ?? Math.ceil(value / 864000) * 864000);

// series: [{ name, values, class }] in one chart with an axis. form: a value as text.
export function chart(title, data, series, form = (value) => grouped(Math.round(value))) {
  const seen = known(series.flatMap(({ values }) => values));
  const highest = Math.max(...seen, 1e-3);
  const top = form === seconds ? roundSeconds(highest) : roundUp(highest);
  const [width, height] = [440, 110];
  const end = Number(data.end_us);
  const points = series[0].values.length;
  const begin = end - Number(data.step_us) * Math.max(points - 1, 0);
  const lines = [0, 0.5, 1].flatMap((part) => [
    svg("line", { x1: 0, x2: width, y1: height * (1 - part), y2: height * (1 - part),
      class: "axis" }),
    part === 0 ? null : svg("text", { x: 2, y: height * (1 - part) + 12 }, form(top * part).replace(/\.0$/, "")),
  ]);
  const times = [0, 0.5, 1].map((part) => svg("text", { x: width * part, y: height + 16,
    "text-anchor": ["start", "middle", "end"][part * 2] }, clock(begin + (end - begin) * part)));
  const words = series.map(({ name, values }) => `${name}: ${summary(values, form)}`);
  return h("figure", {}, h("figcaption", {}, title),
    svg("svg", { viewBox: `0 -2 ${width} ${height + 22}`, class: "chart", role: "img",
      "aria-label": `${title}. ${words.join(". ")}` }, lines,
    series.flatMap(({ values, class: name }) => paths(values, width, height, top, name)), times),
    h("ul", { class: "legend" }, series.map(({ name, values, class: kind }) => h("li", {},
      h("span", { class: "swatch " + kind, "aria-hidden": "true" }), `${name}: `,
      h("span", {}, summary(values, form))))));
}
