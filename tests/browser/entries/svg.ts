// What draws as SVG what a canvas shows.
import { SvgContext } from "../../../dashboard/web/core/svg_context.ts";

Object.assign(window, { stepscope: { timeline: { SvgContext } } });
