/** For tests and benchmarks: `window.stepscope.mesh` of the page's other variant. */
export { cameras } from "./cameras.ts";
export { cards } from "./card.ts";
export { gl } from "./gl.ts";
export { stats } from "./loop.ts";
