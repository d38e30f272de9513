// The charts' engine without the page.
import * as chart from "../../../dashboard/web/lines/chart.js";
import * as draw from "../../../dashboard/web/lines/draw.js";
import * as pen from "../../../dashboard/web/lines/pen.js";
import * as points from "../../../dashboard/web/lines/points.js";
import * as raster from "../../../dashboard/web/lines/raster.js";
import * as scale from "../../../dashboard/web/lines/scale.js";
import * as scene from "../../../dashboard/web/lines/scene.js";
import * as ticks from "../../../dashboard/web/lines/ticks.js";
import { loop } from "../../../dashboard/web/lines/loop.js";

window.stepscope = { curves: { ...chart, ...draw, ...pen, ...points, ...raster, ...scale, ...scene, ...ticks, loop } };
