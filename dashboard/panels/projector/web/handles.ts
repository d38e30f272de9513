/** For tests and benchmarks: `window.stepscope.projector` in the page's other variant. */
export { applyBookmark } from "./bookmarks.ts";
export { debug } from "./debug.ts";
export { panel } from "./panel.ts";
