// One loop for all charts: draws once a frame what has changed and can be seen, and tells charts of their size.

import type { Chart } from "./chart.ts";

/** How far outside the window a chart is still drawn, so that scrolling shows no blank ones. */
const NEAR = "300px";

class Loop {
  /** charts that have something to draw */
  waiting: Set<Chart> = new Set();
  /** what to do before drawing, the last of each kind */
  tasks: Map<object, () => void> = new Map();
  charts: Map<Element, Chart> = new Map();
  frame = 0;
  sizes = new ResizeObserver((entries) => entries.forEach((entry) => this.resized(entry)));
  sights = new IntersectionObserver((entries) => entries.forEach((entry) => this.sighted(entry)), {
    rootMargin: NEAR,
  });

  add(chart: Chart) {
    this.charts.set(chart.element, chart);
    this.sizes.observe(chart.element);
    this.sights.observe(chart.element);
  }

  remove(chart: Chart) {
    this.charts.delete(chart.element);
    this.waiting.delete(chart);
    this.sizes.unobserve(chart.element);
    this.sights.unobserve(chart.element);
  }

  /** Draws the chart in the next frame; while it is out of sight, in the first frame that it is not. */
  draw(chart: Chart) {
    this.waiting.add(chart);
    if (chart.seen) this.wake();
  }

  /** Does something before the next drawing; a later task of the same key replaces it. */
  before(key: object, task: () => void) {
    this.tasks.set(key, task);
    this.wake();
  }

  forget(key: object) {
    this.tasks.delete(key);
  }

  wake() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.run());
  }

  run() {
    this.frame = 0;
    const tasks = [...this.tasks.values()];
    this.tasks.clear();
    tasks.forEach(attempt);
    for (const chart of [...this.waiting]) {
      if (!chart.seen) continue;
      this.waiting.delete(chart);
      attempt(() => chart.draw());
    }
  }

  resized({ target, contentRect }: ResizeObserverEntry) {
    const chart = this.charts.get(target);
    if (chart) attempt(() => chart.resize(contentRect.width, contentRect.height));
  }

  sighted({ target, isIntersecting }: IntersectionObserverEntry) {
    const chart = this.charts.get(target);
    if (!chart || chart.seen === isIntersecting) return;
    chart.seen = isIntersecting;
    if (isIntersecting) this.draw(chart);
    else chart.release();
  }
}

/** One chart's error is reported and does not keep the others from drawing. */
function attempt(task: () => void) {
  try {
    task();
  } catch (error) {
    reportError(error);
  }
}

export const loop = new Loop();
