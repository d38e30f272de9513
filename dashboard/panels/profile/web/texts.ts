/** Figures as text: to the letter what dashboard/panels/profile/texts.py writes. */
import { digits, exactBytes, fileSize, shortDuration } from "../../../web/core/numbers.ts";

const NONE = "–";

const isKnown = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

/** What a total row says instead of a number stays as it is; where it says nothing, it has no value at all. */
const written = (value: unknown, write: (value: number) => string): string =>
  typeof value === "string" ? value : value === undefined ? "" : isKnown(value) ? write(value) : NONE;
const exactly = (value: unknown, write: (value: number) => string): string => (isKnown(value) ? write(value) : "");
const plus = (value: number, signed?: boolean) => (signed && value > 0 ? "+" : "");

/** What columns write, by the end of its name (`stepscopeProfile…`). */
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
