"use strict";
// Draws the plots of `runs`. A figure that is drawn says in data-points how many
// values it shows; body's data-plots counts these figures.

const colours = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2"];
const many = runs.length > 1;

function duration(ns) {
  if (ns == null) return "–";
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (ns >= size) return +(ns / size).toPrecision(3) + " " + unit;
  }
  return ns + " ns";
}

function count(n) {
  if (n == null) return "–";
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (Math.abs(n) >= size) return +(n / size).toPrecision(3) + " " + unit;
  }
  return String(+n.toPrecision(3));
}

function percentile(x) {
  if (x == null) return "–";
  const q = 100 * (1 - 1 / x);
  return x <= 1 ? "0 %" : q.toFixed(Math.max(0, Math.ceil(Math.log10(x)) - 2)) + " %";
}

const seconds = {
  scale: {time: false, range: (u, min, max) => [Math.min(0, min), max]},
  axis: {label: "seconds"},
  show: (t) => (t == null ? "–" : t.toFixed(3) + " s"),
};

const nines = {
  scale: {time: false, distr: 3, log: 10},
  axis: {label: "percentile", values: (u, ticks) => ticks.map((x) => (Number.isInteger(Math.log10(x)) ? percentile(x) : ""))},
  show: percentile,
};

// line makes one curve: its name, style and table of x and y.
function line(name, colour, dash, points) {
  return {name, colour, dash, x: points.map((p) => p[0]), y: points.map((p) => p[1])};
}

// markWarmup greys what is not measured.
function markWarmup(u) {
  const [first] = runs;
  if (many || !first.warmup) return;
  const left = u.valToPos(0, "x", true), right = u.valToPos(first.warmup, "x", true);
  u.ctx.save();
  u.ctx.fillStyle = "rgba(128, 128, 128, 0.15)";
  u.ctx.fillRect(Math.max(left, u.bbox.left), u.bbox.top, Math.max(0, right - Math.max(left, u.bbox.left)), u.bbox.height);
  u.ctx.restore();
}

// border is the style of a curve's box in the legend, by which two of one colour differ.
function border(dash) {
  if (!dash || dash.length === 0) return "solid";
  return dash[0] < dash[1] ? "dotted" : "dashed";
}

// drawn tells how much a figure shows, when it does.
function drawn(figure, lines) {
  figure.dataset.points = lines.reduce((n, l) => n + l.y.filter((v) => v != null).length, 0);
  document.body.dataset.plots = document.querySelectorAll("figure[data-points]").length;
}

function plot(id, title, note, x, y, lines, warmup) {
  lines = lines.filter((l) => l.y.some((v) => v != null && (!y.log || v > 0)));
  if (lines.length === 0) return;
  const figure = document.createElement("figure");
  figure.id = id;
  const caption = document.createElement("figcaption");
  caption.textContent = title;
  const small = document.createElement("small");
  small.textContent = note;
  caption.append(small);
  figure.append(caption);
  document.getElementById("plots").append(figure);
  const data = uPlot.join(lines.map((l) => [l.x, l.y.map((v) => (y.log && !(v > 0) ? null : v))]));
  new uPlot({
    width: Math.min(1060, document.body.clientWidth - 8), height: 320,
    scales: {x: x.scale, y: y.log ? {distr: 3, log: 10} : {range: (u, min, max) => [0, (max || 1) * 1.05]}},
    axes: [x.axis, {size: 80, values: (u, ticks) => ticks.map((v) => (v == null ? "" : y.show(v)))}],
    legend: {markers: {dash: (u, i) => border(u.series[i].dash)}},
    series: [
      {label: x.axis.label, value: (u, v) => x.show(v)},
      ...lines.map((l) => ({label: l.name, stroke: l.colour, dash: l.dash, width: 1.5, points: {show: l.x.length < 40}, value: (u, v) => y.show(v)})),
    ],
    hooks: {drawClear: warmup ? [markWarmup] : [], ready: [() => drawn(figure, lines)]},
  }, data, figure);
}

const named = (run, what) => (many ? run.label + (what ? ", " + what : "") : what || run.label);
const colour = (i) => colours[i % colours.length];
const whole = (r) => r.series.filter((s) => s.length_s > 0.2); // the last intervals only drain
const perSecond = (s, n) => (s.length_s > 0 ? n / s.length_s : null);

function rates() {
  const lines = runs.map((r, i) => line(named(r, r.events ? "events/s" : "requests/s"), colour(i), [],
    whole(r).map((s) => [s.t_s, perSecond(s, r.events ? s.events_ok : s.ok)])));
  plot("rate", "Rate", "acknowledged a second, by the time of the answer; grey is the warm-up", seconds, {show: count}, lines, true);
}

function latencies() {
  const lines = [];
  runs.forEach((r, i) => {
    const curves = many ? [["p50", "p50", [2, 4]], ["p99", "p99", []]] : [["p50", "p50", []], ["p99", "p99", []], ["p99.9", "p99_9", []], ["max", "max", [4, 4]]];
    curves.forEach(([name, key, dash], j) => lines.push(line(named(r, name), colour(many ? i : j), dash,
      whole(r).map((s) => [s.t_s, s.latency ? s.latency[key] : null]))));
  });
  plot("latency", "Latency over time", "of the requests answered in each second, from their intended start", seconds, {show: duration, log: true}, lines, true);
}

function outstanding(id, title, note, from) {
  const lines = [];
  runs.forEach((r, i) => {
    const samples = r.outstanding.filter((s) => s.t_s >= from(r));
    lines.push(line(named(r, "in flight"), colour(i), [], samples.map((s) => [s.t_s - (id === "drain" ? r.end : 0), s.n])));
    if (samples.some((s) => s.backlog > 0)) {
      lines.push(line(named(r, "due, not sent"), colour(many ? i : 1), [2, 4], samples.map((s) => [s.t_s - (id === "drain" ? r.end : 0), s.backlog])));
    }
  });
  plot(id, title, note, seconds, {show: count}, lines, id !== "drain");
}

function spectrum() {
  const lines = runs.map((r, i) => line(named(r, "latency"), colour(i), [],
    r.spectrum.filter((p) => p.q < 1).map((p) => [1 / (1 - p.q), p.ns])));
  plot("spectrum", "Percentile spectrum", "how slow the slowest are: each step to the right is ten times rarer", nines, {show: duration, log: true}, lines, false);
}

function cpu() {
  const lines = [];
  runs.forEach((r, i) => {
    const series = whole(r);
    lines.push(line(named(r, "client"), colour(many ? i : 0), [2, 4], series.map((s) => [s.t_s, s.client_cpu])));
    lines.push(line(named(r, "server"), colour(many ? i : 1), [], series.map((s) => [s.t_s, s.server_cpu ?? null])));
  });
  plot("cpu", "CPU", "cores used", seconds, {show: count}, lines, true);
}

rates();
latencies();
outstanding("outstanding", "Outstanding requests", "sent and not yet answered", () => 0);
outstanding("drain", "The end: the queue drains", "seconds since the last request was due", (r) => r.end - 0.05);
spectrum();
cpu();
