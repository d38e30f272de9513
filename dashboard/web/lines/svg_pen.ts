// The pen that writes SVG: the same strokes as on a canvas.
import { escaped } from "../core/svg_context.ts";
import type { Box, DiscStyle, Fill, LineStyle, Pen, RingStyle, Stroke, TextStyle } from "./pen.ts";
import { decimate, project, stretches } from "./points.ts";

const number = (v: number) => String(Math.round(v * 100) / 100 || 0);

export class SvgPen implements Pen {
  width: number;
  height: number;
  family: string;
  prefix: string;
  parts: string[] = [];
  clips = 0;

  /** @param prefix of the ids, which are the same in every picture otherwise */
  constructor(width: number, height: number, family: string, prefix = "") {
    this.width = width;
    this.height = height;
    this.family = family;
    this.prefix = prefix;
  }

  tag(name: string, attributes: Record<string, string | number | undefined>, content?: string) {
    const list = Object.entries(attributes).filter(([, v]) => v !== undefined && v !== "");
    const head = list.map(([k, v]) => ` ${k}="${typeof v === "number" ? number(v) : escaped(v)}"`).join("");
    this.parts.push(content === undefined ? `<${name}${head}/>` : `<${name}${head}>${content}</${name}>`);
  }

  rect({ x, y, w, h }: Box, { fill, opacity = 1 }: Fill) {
    this.tag("rect", { x, y, width: w, height: h, fill, "fill-opacity": opacity === 1 ? "" : opacity });
  }

  segments(segments: number[][], { color, width = 1, opacity = 1, dash = [] }: LineStyle) {
    if (!segments.length) return;
    const snap = (v: number) => Math.round(v - 0.5) + 0.5;
    const d = segments.map(([x0, y0, x1, y1]) => {
      const [upright, level] = [x0 === x1, y0 === y1];
      const at = (x: number, y: number) => `${number(upright ? snap(x) : x)} ${number(level ? snap(y) : y)}`;
      return `M${at(x0, y0)}L${at(x1, y1)}`;
    });
    const style = { stroke: color, "stroke-width": width, "stroke-opacity": opacity === 1 ? "" : opacity };
    this.tag("path", { d: d.join(""), fill: "none", ...style, "stroke-dasharray": dash.join(" ") });
  }

  rings(rings: number[][], { fill, stroke, width = 1, opacity = 1, title }: RingStyle) {
    const d = rings.map((ring) => {
      const at: string[] = [];
      for (let i = 0; i < ring.length; i += 2) at.push(`${number(ring[i])} ${number(ring[i + 1])}`);
      return `M${at.join("L")}Z`;
    });
    const style = {
      fill: fill || "none",
      stroke: stroke || "",
      "stroke-width": stroke ? width : "",
      opacity: opacity === 1 ? "" : opacity,
    };
    this.tag("path", { d: d.join(""), ...style }, title ? `<title>${escaped(title)}</title>` : undefined);
  }

  disc(x: number, y: number, radius: number, { fill, stroke, title }: DiscStyle) {
    const style = { fill, stroke: stroke || "", "stroke-width": stroke ? 1.5 : "" };
    this.tag("circle", { cx: x, cy: y, r: radius, ...style }, title ? `<title>${escaped(title)}</title>` : undefined);
  }

  text(x: number, y: number, text: string, { color, size = 11, weight = 400, align = "left", up }: TextStyle) {
    const anchor = { left: "", center: "middle", right: "end" }[align];
    const turn = up ? `rotate(-90 ${number(x)} ${number(y)})` : "";
    // In most fonts, the baseline is about a third of the height below the middle.
    const place = { x, y: y + size * 0.35, transform: turn, "text-anchor": anchor };
    this.tag(
      "text",
      { ...place, fill: color, "font-size": size, "font-weight": weight === 400 ? "" : weight },
      escaped(text),
    );
  }

  lines(strokes: Stroke[], clip: Box) {
    this.within(clip, () => strokes.forEach((stroke) => this.line(stroke)));
  }

  line({ x, y, sx, sy, color, opacity, width, dash, dot }: Stroke) {
    const { points, count } = project(x, y, sx, sy);
    const few = count > 2 * Math.abs(sx.toPx(sx.hi) - sx.p0)
      ? decimate(points, count, 0.5)
      : points.slice(0, 2 * count);
    const d: string[] = [];
    for (const [from, to] of stretches(few, few.length / 2)) {
      const at = (i: number) => `${number(few[2 * i])} ${number(few[2 * i + 1])}`;
      if (to - from === 1) {
        this.tag("circle", {
          cx: few[2 * from],
          cy: few[2 * from + 1],
          r: dot / 2,
          fill: color,
          "fill-opacity": opacity === 1 ? "" : opacity,
        });
      } else d.push("M" + Array.from({ length: to - from }, (_, i) => at(from + i)).join("L"));
    }
    const style = { stroke: color, "stroke-width": width, "stroke-opacity": opacity === 1 ? "" : opacity };
    if (d.length) {
      this.tag("path", {
        d: d.join(""),
        fill: "none",
        ...style,
        "stroke-linejoin": "round",
        "stroke-linecap": "round",
        "stroke-dasharray": dash.join(" "),
      });
    }
  }

  within({ x, y, w, h }: Box, draw: () => void) {
    const id = `${this.prefix}clip${(this.clips += 1)}`;
    this.parts.push(
      `<clipPath id="${id}"><rect x="${number(x)}" y="${number(y)}" width="${number(w)}" height="${
        number(h)
      }"/></clipPath><g clip-path="url(#${id})">`,
    );
    draw();
    this.parts.push("</g>");
  }

  /** The whole document. */
  toString() {
    const size = `width="${number(this.width)}" height="${number(this.height)}" viewBox="0 0 ${number(this.width)} ${
      number(this.height)
    }"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="${
      escaped(this.family)
    }" style="font-variant-numeric:tabular-nums">\n${this.parts.join("\n")}\n</svg>\n`;
  }
}
