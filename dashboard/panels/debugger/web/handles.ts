/** For tests and benchmarks: `window.stepscope.debugger` in the page's other variant. */
import { current } from "./mount.ts";

export const debug = () => current()?.facts() ?? null;
