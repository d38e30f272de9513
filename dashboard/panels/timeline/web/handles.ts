/** For tests and benchmarks: `window.stepscope.timeline` in the page's other variant. */
export { debug } from "./debug.ts";
export * as details from "./details.ts";
export { mount } from "./panel.ts";
