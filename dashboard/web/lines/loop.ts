// One loop for all charts: once a frame, draws those that have changed and are visible, and reports sizes to charts.

import type { Chart } from "./chart.ts";

/** How far outside the window charts are still drawn, so that scrolling reveals no blank ones. */
const NEAR = "300px";

class Loop {
  /** charts that have something to draw */
  waiting: Set<Chart> = new Set();
  /** tasks to run before drawing, the latest for each key */
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

  /** Draws the chart in the next frame, or, if it is out of sight, in the first frame in which it is visible. */
  draw(chart: Chart) {
    this.waiting.add(chart);
    if (chart.seen) this.wake();
  }

  /** Runs a task before the next drawing; a later task with the same key replaces it. */
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

/** Reports a chart's error, so that it does not keep the others from drawing. */
function attempt(task: () => void) {
  try {
    task();
  } catch (error) {
    reportError(error);
  }
}

export const loop = new Loop();
