/** The page with one handle on what runs in it, for tests, benchmarks and screenshots; users get main.js. */
import * as curves from "../curves/web/profiled_steps.js";
import { curveCards } from "../curves/web/cards.js";
import * as curveModel from "../curves/web/model.js";
import * as audioData from "../panels/audio/web/data.js";
import * as audioDraw from "../panels/audio/web/draw.js";
import * as audioSteps from "../panels/audio/web/steps.js";
import { debug as graphDebug } from "../panels/graph/web/debug.js";
import { panel as graphPanel } from "../panels/graph/web/panel.js";
import { cameras } from "../panels/mesh/web/cameras.js";
import { gl } from "../panels/mesh/web/gl.js";
import { cards, stats } from "../panels/mesh/web/index.js";
import { applyBookmark } from "../panels/projector/web/bookmarks.js";
import { debug as projectorDebug } from "../panels/projector/web/debug.js";
import { panel as projectorPanel } from "../panels/projector/web/panel.js";
import { debug as timelineDebug } from "../panels/timeline/web/debug.js";
import * as details from "../panels/timeline/web/details.js";
import { mount as mountTimeline } from "../panels/timeline/web/panel.js";
import { elements } from "./core/dom.js";
import { placeSpans } from "./lines/draw.js";
import { loop } from "./lines/loop.js";
import "./main.js";
import { shortcuts } from "./page/shortcuts.js";
import { view } from "./page/view.js";

window.stepscope = {
  audio: { data: audioData, draw: audioDraw, steps: audioSteps },
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
