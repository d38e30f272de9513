/** For tests and benchmarks: `window.stepscope.audio` of the page's other variant. */
export * as data from "./data.ts";
export * as draw from "./draw.ts";
export * as steps from "./steps.ts";
