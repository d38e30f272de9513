/** For tests and benchmarks: `window.stepscope.graph` of the page's other variant. */
export { debug } from "./debug.ts";
export { panel } from "./panel.ts";
