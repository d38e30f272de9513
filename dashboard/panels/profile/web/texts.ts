/** Numbers as text: exactly what dashboard/panels/profile/texts.py writes. */
import { digits, exactBytes, fileSize, shortDuration } from "../../../web/core/numbers.ts";

const NONE = "–";

const isKnown = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

/** Text that a total row has instead of a number stays as is; an empty cell there has no value at all. */
const written = (value: unknown, write: (value: number) => string): string =>
  typeof value === "string" ? value : value === undefined ? "" : isKnown(value) ? write(value) : NONE;
const exactly = (value: unknown, write: (value: number) => string): string => (isKnown(value) ? write(value) : "");
const plus = (value: number, signed?: boolean) => (signed && value > 0 ? "+" : "");

/** Column formatters, by the suffix of their name (`stepscopeProfile…`). */
export const formats = {
  Time: (value: unknown, signed?: boolean) => written(value, (ns) => plus(ns, signed) + shortDuration(ns)),
  Ns: (value: unknown) => exactly(value, (ns) => `${ns.toLocaleString("en-US", { maximumFractionDigits: 1 })} ns`),
  Size: (value: unknown) => written(value, fileSize),
  Bytes: (value: unknown) => exactly(value, exactBytes),
  Percent: (value: unknown, signed?: boolean) =>
    written(value, (share) => `${plus(share, signed)}${share.toFixed(1)}%`),
  Count: (value: unknown) => written(value, (number) => number.toLocaleString("en-US")),
  Identity: (value: unknown) => written(value, String),
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

/** Splits a frame into its distinctive part, which starts at the end of its file's path, and the path before it. */
export function frameParts(frame: string): [tail: string, head: string] {
  const bracket = frame.indexOf("(");
  const cut = (bracket < 0 ? frame : frame.slice(0, bracket)).lastIndexOf("/") + 1;
  return [frame.slice(cut), frame.slice(0, cut)];
}

const TAIL = 14;

/** Splits a name into a head that may be truncated and a tail that stays; a short name has no tail. */
export const middleCut = (name: string): [head: string, tail: string] =>
  name.length > 2 * TAIL ? [name.slice(0, -TAIL), name.slice(-TAIL)] : [name, ""];
