/** For tests and benchmarks: `window.stepscope.mesh` in the page's other variant. */
export { cameras } from "./cameras.ts";
export { cards } from "./card.ts";
export { gl } from "./gl.ts";
export { stats } from "./loop.ts";
