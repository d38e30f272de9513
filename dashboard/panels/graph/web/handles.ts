/** For tests and benchmarks: `window.stepscope.graph` in the page's other variant. */
export { debug } from "./debug.ts";
export { panel } from "./panel.ts";
