// @ts-nocheck
// What draws as SVG what a canvas shows.
import { SvgContext } from "../../../dashboard/web/core/svg_context.ts";

window.stepscope = { timeline: { SvgContext } };
