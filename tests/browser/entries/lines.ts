// The charts' engine without the page.
import * as chart from "../../../dashboard/web/lines/chart.ts";
import * as draw from "../../../dashboard/web/lines/draw.ts";
import * as pen from "../../../dashboard/web/lines/pen.ts";
import * as picture from "../../../dashboard/web/lines/picture.ts";
import * as points from "../../../dashboard/web/lines/points.ts";
import * as raster from "../../../dashboard/web/lines/raster.ts";
import * as scale from "../../../dashboard/web/lines/scale.ts";
import * as scene from "../../../dashboard/web/lines/scene.ts";
import * as ticks from "../../../dashboard/web/lines/ticks.ts";
import { loop } from "../../../dashboard/web/lines/loop.ts";

Object.assign(window, {
  stepscope: {
    curves: { ...chart, ...draw, ...pen, ...picture, ...points, ...raster, ...scale, ...scene, ...ticks, loop },
  },
});
