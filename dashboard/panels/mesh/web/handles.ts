/** For tests and benchmarks: `window.stepscope.mesh` of the page's other variant. */
export { cameras } from "./cameras.ts";
export { gl } from "./gl.ts";
export { cards, stats } from "./index.ts";
