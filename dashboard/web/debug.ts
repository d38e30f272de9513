/** A handle on the running page, for tests, benchmarks and screenshots; the bundle for users does not include it. */
import * as curves from "../curves/web/profiled_steps.ts";
import { curveCards } from "../curves/web/cards.ts";
import * as curveModel from "../curves/web/model.ts";
import * as commands from "./core/commands.ts";
import { elements } from "./core/dom.ts";
import { placeSpans } from "./lines/draw.ts";
import { loop } from "./lines/loop.ts";
import { view } from "./page/view.ts";

/** Expose the page's handles, together with those of the panels, by panel. */
export function expose(panels: Record<string, object>): void {
  const page = { commands, curveCards, curveModel, curves: { ...curves, loop, placeSpans }, elements, view };
  Object.assign(window, { stepscope: { ...page, ...panels } });
}
