/** For tests and benchmarks: `window.stepscope.audio` in the page's other variant. */
export * as draw from "./draw.ts";
export * as view from "./view.ts";
