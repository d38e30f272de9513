/** Figures, tensors, and places as text. */
import { shortNumber } from "../../../web/core/numbers.ts";
import type { TensorFacts } from "./messages.generated.ts";

/** A figure as sent: null if it was not measured, text if it is infinite. */
export type Sent = number | string | null;

export const PHASES: Record<string, string> = {
  forward: "forward",
  backward: "backward",
  update: "update",
  parameter: "parameter",
  shown: "shown",
  eager: "eager",
  graph: "graph",
};

/** Formats a figure in a few characters. */
export const short = (value: Sent): string => value === null ? "–" : shortNumber(Number(value));

const FIGURES: Record<string, string> = {
  auto: "Automatic",
  size: "Size",
  nan: "NaN",
  positive_infinity: "+Inf",
  negative_infinity: "−Inf",
  zeros: "Zeros",
  negatives: "Negatives",
  minimum: "Minimum",
  maximum: "Maximum",
  mean: "Mean",
  variance: "Variance",
  l2: "L2 norm",
  absolute_mean: "Mean absolute value",
  underflow: "Underflow share",
  overflow: "Overflow share",
};

/** Returns the display name of a figure. */
export const figureText = (figure: string): string => FIGURES[figure] ?? figure;

/** Returns the short name of a device, "GPU:1", or the full name if another device shares the short one. */
export function deviceText(device: string, all: readonly string[]): string {
  const end = (name: string) => name.split("device:").at(-1) || name;
  return all.some((other) => other !== device && end(other) === end(device)) ? device : end(device);
}

/** Returns the end of a path, its most telling part: "layers/attention.py". */
export function shortPath(path: string, parts = 2): string {
  const all = path.split(/[/\\]/).filter(Boolean);
  return all.length > parts ? "…/" + all.slice(-parts).join("/") : path;
}

/** Describes a tensor in one line: "aten.relu · float32 [4, 8] · forward · in Net.body". */
export function kindOf({ dtype, shape, phase, op, module }: TensorFacts): string {
  const value = [dtype, shape].filter(Boolean).join(" ");
  return [op, value, PHASES[phase] ?? phase, module && `in ${module}`].filter(Boolean).join(" · ");
}

/** Returns the rows of a slice of an array of that shape, given its first numbers; the last row may be incomplete. */
export function rowsIn(numbers: Float64Array, shape: readonly number[]): Float64Array[] {
  const width = shape.at(-1) ?? 1;
  return Array.from(
    { length: Math.ceil(numbers.length / (width || 1)) },
    (_, row) => numbers.subarray(row * width, (row + 1) * width),
  );
}

/** Formats a table as CSV, following RFC 4180. */
export function csv(rows: readonly (readonly Sent[])[]): string {
  const cell = (value: Sent) => {
    const text = value === null ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
