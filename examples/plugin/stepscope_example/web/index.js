/** The Spectrum panel: a card for each tag and run, with a line for each step and the chosen step on top. */

import { nearest, numberText, pathOf, scales, ticks } from "./chart.js";

/** The version of the page's API that this is written for. */
export const api = 1;

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 210;
const [LEAST_CARD, GAP, AROUND_CHART] = [340, 12, 26];

function make(tag, attributes = {}, ...children) {
  const element = ["svg", "path", "line", "circle", "text", "g"].includes(tag)
    ? document.createElementNS(SVG, tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export async function mount(element, context) {
  let series = [];
  let steps = [];
  /** The index of the value under the pointer or chosen with the arrow keys, the same in all cards. */
  let place = 0;

  const slider = make("input", { type: "range", min: 0, step: 1, "aria-label": "Step" });
  const said = make("output");
  const head = make("label", { class: "spectrum-step" }, "Step ", slider, said);
  const grid = make("div", { class: "spectrum-cards" });
  element.append(make("div", { class: "spectrum" }, head, grid));

  const chosenStep = () => (context.get("step") === "" ? steps.at(-1) : Number(context.get("step")));
  const choose = (at) => {
    const step = steps[Math.min(Math.max(at, 0), steps.length - 1)];
    context.set("step", step === steps.at(-1) ? "" : String(step));
  };
  slider.addEventListener("input", () => choose(Number(slider.value)));

  async function load() {
    const shown = context.runs();
    const found = shown.length ? await context.ask("spectra", { run: shown.map(({ name }) => name) }) : { series: [] };
    series = found.series.filter(({ spectra }) => spectra.length);
    steps = [...new Set(series.flatMap(({ spectra }) => spectra.map(({ step }) => step)))].sort((a, b) => a - b);
    draw();
  }

  function draw() {
    const focused = grid.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    head.hidden = steps.length < 2;
    if (!series.length) {
      grid.replaceChildren(make("p", { class: "spectrum-none" }, "None of the visible runs has spectra"));
      return;
    }
    const at = nearest(steps, chosenStep());
    slider.max = steps.length - 1;
    slider.value = at;
    slider.setAttribute("aria-valuetext", `step ${steps[at].toLocaleString("en-US")}`);
    said.textContent = steps[at].toLocaleString("en-US");
    const runs = new Map(context.runs().map((run) => [run.name, run]));
    grid.replaceChildren(...series.flatMap((one) => (runs.has(one.run) ? [cardOf(one, runs.get(one.run))] : [])));
    if (focused) grid.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  function cardOf({ run, tag, spectra }, { label, color }) {
    const at = nearest(spectra.map(({ step }) => step), chosenStep());
    const { step, values, rank, of } = spectra[at];
    const key = JSON.stringify([tag, run]);
    const title = make(
      "h3",
      { title: `${tag}, ${run}` },
      make("span", { class: "spectrum-tag" }, tag),
      make("span", { class: "spectrum-run" }, make("i", { style: `background: ${color}` }), label),
    );
    const readout = make("p", { class: "spectrum-readout" });
    // Runs are compared: the charts of a tag have one scale.
    const compared = series.flatMap((one) => (one.tag === tag ? one.spectra : []));
    const chart = chartOf({ spectra, compared, at, color, key, name: `${tag} of ${label}` }, (index) => {
      readout.textContent = `Singular value ${index + 1} of ${of}: ${numberText(values[index])}`;
    });
    const caption = make(
      "p",
      { class: "spectrum-rank", title: "The exponential of the entropy of the singular values" },
      `Effective rank ${numberText(rank)} of ${of} at step ${step.toLocaleString("en-US")}`,
    );
    return make("section", { class: "spectrum-card" }, title, chart, caption, readout);
  }

  /** The width of a column of the grid, minus the padding and border around a chart: `index.css`. */
  function widthOfChart() {
    const columns = Math.max(1, Math.floor((grid.clientWidth + GAP) / (LEAST_CARD + GAP)));
    return Math.max(200, Math.floor((grid.clientWidth - GAP * (columns - 1)) / columns) - AROUND_CHART);
  }

  function chartOf({ spectra, compared, at, color, key, name }, tell) {
    const width = widthOfChart();
    const { values } = spectra[at];
    const { x, y, domain } = scales(compared.map((one) => one.values), context.get("scale"), width, HEIGHT);
    const svg = make("svg", {
      viewBox: `0 0 ${width} ${HEIGHT}`,
      role: "slider",
      tabindex: 0,
      "data-key": key,
      "aria-label": `Singular values, ${name}`,
      "aria-valuemin": 1,
      "aria-valuemax": values.length,
    });
    for (const tick of ticks(domain, context.get("scale"))) {
      svg.append(
        make("line", { class: "spectrum-grid", x1: x.from, x2: x.to, y1: y(tick), y2: y(tick) }),
        make("text", { x: x.from - 6, y: y(tick) + 4, "text-anchor": "end" }, numberText(tick)),
      );
    }
    for (const index of [0, Math.floor((x.count - 1) / 2), x.count - 1]) {
      svg.append(make("text", { x: x(index), y: HEIGHT - 6, "text-anchor": "middle" }, String(index + 1)));
    }
    spectra.forEach((one, place) => {
      const share = spectra.length > 1 ? place / (spectra.length - 1) : 1;
      if (place !== at) {
        svg.append(make("path", { d: pathOf(one.values, x, y), stroke: color, "stroke-opacity": 0.1 + 0.3 * share }));
      }
    });
    svg.append(make("path", { class: "spectrum-chosen", d: pathOf(values, x, y), stroke: color }));
    const mark = make("circle", { r: 4, fill: color });
    svg.append(mark);

    const show = (index) => {
      place = Math.min(Math.max(index, 0), values.length - 1);
      mark.setAttribute("cx", x(place));
      mark.setAttribute("cy", y(values[place]));
      svg.setAttribute("aria-valuenow", place + 1);
      svg.setAttribute("aria-valuetext", `${place + 1}: ${numberText(values[place])}`);
      tell(place);
    };
    const moves = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity };
    svg.addEventListener("keydown", (event) => {
      if (!Object.hasOwn(moves, event.key)) return;
      event.preventDefault();
      show(place + moves[event.key]);
    });
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      show(Math.round(x.invert(((event.clientX - box.left) / box.width) * width)));
    });
    show(place);
    return svg;
  }

  const move = (by) => choose(nearest(steps, chosenStep()) + by);
  context.commands([
    { id: "earlier", title: "An earlier step", keys: [","], act: () => move(-1) },
    { id: "later", title: "A later step", keys: ["."], act: () => move(1) },
    { id: "latest", title: "The latest step of all spectra", act: () => context.set("step", "") },
  ]);
  context.onChange((what) => (what === "data" || what === "runs" ? load() : draw()));
  let width = 0;
  const resized = new ResizeObserver(() => {
    if (grid.clientWidth === width) return;
    width = grid.clientWidth;
    if (series.length) draw();
  });
  resized.observe(grid);
  await load();
  return () => resized.disconnect();
}
