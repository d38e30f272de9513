// @ts-nocheck
/** The page with one handle on what runs in it, for tests, benchmarks and screenshots; users get main.js. */
import * as curves from "../curves/web/profiled_steps.ts";
import { curveCards } from "../curves/web/cards.ts";
import * as curveModel from "../curves/web/model.ts";
import * as audio from "../panels/audio/web/handles.ts";
import { debug as graphDebug } from "../panels/graph/web/debug.ts";
import { panel as graphPanel } from "../panels/graph/web/panel.ts";
import { cameras } from "../panels/mesh/web/cameras.ts";
import { gl } from "../panels/mesh/web/gl.ts";
import { cards, stats } from "../panels/mesh/web/index.ts";
import { applyBookmark } from "../panels/projector/web/bookmarks.ts";
import { debug as projectorDebug } from "../panels/projector/web/debug.ts";
import { panel as projectorPanel } from "../panels/projector/web/panel.ts";
import { debug as timelineDebug } from "../panels/timeline/web/debug.ts";
import * as details from "../panels/timeline/web/details.ts";
import { mount as mountTimeline } from "../panels/timeline/web/panel.ts";
import { elements } from "./core/dom.ts";
import { placeSpans } from "./lines/draw.ts";
import { loop } from "./lines/loop.ts";
import "./main.ts";
import { shortcuts } from "./page/shortcuts.ts";
import { view } from "./page/view.ts";

window.stepscope = {
  audio,
  curveCards,
  curveModel,
  curves: { ...curves, loop, placeSpans },
  elements,
  graph: { debug: graphDebug, panel: graphPanel },
  mesh: { cameras, cards, gl, stats },
  projector: { applyBookmark, debug: projectorDebug, panel: projectorPanel },
  shortcuts,
  timeline: { debug: timelineDebug, details, mount: mountTimeline },
  view,
};
