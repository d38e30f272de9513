// @ts-nocheck
/** The page: what every visit needs at once, and how the large panels are fetched when they are opened. */
import "../curves/web/actions.ts";
import "../curves/web/cards.ts";
import "../curves/web/exact.ts";
import "../curves/web/marks_table.ts";
import "../curves/web/model.ts";
import "../curves/web/profiled_steps.ts";
import "../curves/web/table.ts";
import "../panels/audio/web/compare.ts";
import "../panels/audio/web/data.ts";
import "../panels/audio/web/draw.ts";
import "../panels/audio/web/index.ts";
import "../panels/audio/web/player.ts";
import "../panels/audio/web/row.ts";
import "../panels/audio/web/steps.ts";
import "../panels/audio/web/view.ts";
import "../panels/custom_scalars/web/index.ts";
import "../panels/health/web/index.ts";
import "../panels/histograms/web/index.ts";
import "../panels/histograms/web/large.ts";
import "../panels/hparams/web/chart.ts";
import "../panels/hparams/web/controls.ts";
import "../panels/hparams/web/index.ts";
import "../panels/hparams/web/parallel.ts";
import "../panels/hparams/web/scales.ts";
import "../panels/hparams/web/scatter.ts";
import "../panels/hparams/web/table.ts";
import "../panels/images/web/canvas.ts";
import "../panels/images/web/compare_picker.ts";
import "../panels/images/web/compare_side.ts";
import "../panels/images/web/controls.ts";
import "../panels/images/web/decode.ts";
import "../panels/images/web/downloads.ts";
import "../panels/images/web/film_strip.ts";
import "../panels/images/web/index.ts";
import "../panels/images/web/large.ts";
import "../panels/images/web/pictures.ts";
import "../panels/images/web/pixels.ts";
import "../panels/images/web/png.ts";
import "../panels/images/web/settings.ts";
import "../panels/images/web/sources.ts";
import "../panels/images/web/stepper.ts";
import "../panels/images/web/steps.ts";
import "../panels/images/web/tiles.ts";
import "../panels/images/web/viewer.ts";
import "../panels/mesh/web/axes.ts";
import "../panels/mesh/web/cameras.ts";
import "../panels/mesh/web/geometry.ts";
import "../panels/mesh/web/gl.ts";
import "../panels/mesh/web/index.ts";
import "../panels/mesh/web/input.ts";
import "../panels/mesh/web/math.ts";
import "../panels/mesh/web/scene.ts";
import "../panels/pr_curves/web/index.ts";
import "../panels/pr_curves/web/pointer.ts";
import "../panels/profile/web/index.ts";
import "../panels/text/web/diff.ts";
import "../panels/text/web/entry.ts";
import "../panels/text/web/index.ts";
import "../panels/text/web/search.ts";
import "../runs/web/labels.ts";
import "../runs/web/menu.ts";
import "../runs/web/settings.ts";
import "../runs/web/state.ts";
import "../runs/web/table.ts";
import "./cards/grid.ts";
import "./cards/plotly.ts";
import "./core/binary.ts";
import "./core/canvas_text.ts";
import "./core/dash.ts";
import "./core/dom.ts";
import "./core/popover.ts";
import "./core/step_slider.ts";
import "./core/stepper.ts";
import "./core/svg_context.ts";
import "./lines/chart.ts";
import "./lines/draw.ts";
import "./lines/interactions.ts";
import "./lines/loop.ts";
import "./lines/overlay.ts";
import "./lines/pen.ts";
import "./lines/points.ts";
import "./lines/raster.ts";
import "./lines/scale.ts";
import "./lines/scene.ts";
import "./lines/ticks.ts";
import "./page/capture.ts";
import "./page/layout.ts";
import "./page/live.ts";
import "./page/palette.ts";
import "./page/shortcuts.ts";
import "./page/shortcuts_panels.ts";
import "./page/theme.ts";
import "./page/view.ts";
import { callbacks } from "./core/dash.ts";

/** Panels whose scripts come with their first visit: the namespace and the functions that callbacks of the server name. */
const LATER = {
  graph: ["stepscopeGraph", ["open"], () => import("../panels/graph/web/mount.ts")],
  projector: ["stepscopeProjector", ["open", "welcome", "refresh"], () => import("../panels/projector/web/mount.ts")],
  timeline: ["stepscopeTimeline", ["open"], () => import("../panels/timeline/web/mount.ts")],
};

for (const [namespace, names, load] of Object.values(LATER)) {
  const later = (name) => async (...values) => (await load())[name](...values);
  callbacks(namespace, Object.fromEntries(names.map((name) => [name, later(name)])));
}
const opened = LATER[new URLSearchParams(location.search).get("tab")];
if (opened) void opened[2]();
new window.DashRenderer();
