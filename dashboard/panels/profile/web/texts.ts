/** Figures as text: to the letter what dashboard/panels/profile/texts.py writes. */
import { exactBytes, fileSize } from "../../../web/core/numbers.ts";

const NONE = "–";
type Units = readonly [unit: string, size: number][];
const THOUSANDS: Units = [["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6]];
const TIMES: Units = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]];

const isKnown = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

/** At most four significant digits, with separators where there are more before the point. */
export function digits(value: number): string {
  for (const [unit, size] of THOUSANDS) if (Math.abs(value) >= size) return `${digits(value / size)} ${unit}`;
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
  if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential(2).replace(/e([+-])(\d)$/, "e$10$2");
  return String(Number(value.toPrecision(4)));
}

export function time(ns: number): string {
  for (const [unit, size] of TIMES) if (Math.abs(ns) >= size) return `${digits(ns / size)} ${unit}`;
  return `${digits(ns)} ns`;
}

/** What a total row says instead of a number stays as it is; where it says nothing, it has no value at all. */
const written = (value: unknown, write: (value: number) => string): string =>
  typeof value === "string" ? value : value === undefined ? "" : isKnown(value) ? write(value) : NONE;
const exactly = (value: unknown, write: (value: number) => string): string => (isKnown(value) ? write(value) : "");
const plus = (value: number, signed?: boolean) => (signed && value > 0 ? "+" : "");

/** What columns write, by the end of its name (`stepscopeProfile…`). */
export const formats = {
  Time: (value: unknown, signed?: boolean) => written(value, (ns) => plus(ns, signed) + time(ns)),
  Ns: (value: unknown) => exactly(value, (ns) => `${ns.toLocaleString("en-US", { maximumFractionDigits: 1 })} ns`),
  Size: (value: unknown) => written(value, (bytes) => (bytes < 0 ? "-" : "") + fileSize(Math.abs(bytes))),
  Bytes: (value: unknown) => exactly(value, exactBytes),
  Percent: (value: unknown, signed?: boolean) =>
    written(value, (share) => `${plus(share, signed)}${share.toFixed(1)}%`),
  Count: (value: unknown) => written(value, (number) => number.toLocaleString("en-US")),
  Number: (value: unknown) => written(value, digits),
  Exact: (value: unknown) => exactly(value, String),
  Flag: (value: unknown) => (value === true ? "yes" : value === false ? "no" : value || ""),
  BySize: (one: number, other: number) => Math.abs(one) - Math.abs(other),
  /** A bar behind a number, as long as its share of `whole`. */
  Bar: ({ value, node }: { value: unknown; node: { rowPinned?: string | null } }, whole: number) => {
    const share = isKnown(value) && !node.rowPinned ? Math.max(0, Math.min(1, value / whole)) : 0;
    return { backgroundSize: `${(100 * share).toFixed(2)}% 100%` };
  },
};

/** A frame in what tells it apart, which is the end of its file's path, and the path before that. */
export function frameParts(frame: string): [tail: string, head: string] {
  const bracket = frame.indexOf("(");
  const cut = (bracket < 0 ? frame : frame.slice(0, bracket)).lastIndexOf("/") + 1;
  return [frame.slice(cut), frame.slice(0, cut)];
}

const TAIL = 14;

/** A name as what may be cut off at its end, and the end that stays; a short one has no such end. */
export const middleCut = (name: string): [head: string, tail: string] =>
  name.length > 2 * TAIL ? [name.slice(0, -TAIL), name.slice(-TAIL)] : [name, ""];
