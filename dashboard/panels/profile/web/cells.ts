/** Cell contents of the Profile panel's tables. */
import { integer } from "../../../web/core/numbers.ts";
import { h, type ReactElement } from "../../../web/core/react.ts";
import type { CellParams, RowData } from "./grid.ts";
import { isGroup, setOpen } from "./groups.ts";
import type { NameParams } from "./messages.generated.ts";
import { address, placeOf } from "./places.ts";
import { HEIGHT, spreadOf, WIDTH } from "./spread.ts";
import { frameParts, middleCut } from "./texts.ts";

const icon = (name: string, size: number) =>
  h("span", { className: "icon", style: { "--icon": `var(--icon-${name})`, "--size": `${size}px` } });

/** A link that shows a row on the Timeline; nothing for rows without a specific place. */
function toTimeline(data: RowData, trace: string, name: unknown, linked: boolean): ReactElement | null {
  if (!data["@at"]) return linked && data["@row"] !== "total" ? h("span", { className: "profile-at" }) : null;
  const place = placeOf(data, trace, name);
  return h("a", {
    className: "profile-at",
    href: address(place),
    "data-trace": place.trace,
    "data-range": place.range,
    "data-slice": place.slice,
    "data-search": place.search,
    title: place.search
      ? "Show its slices on the Timeline, the longest first"
      : "Show it on the Timeline; of several slices, the longest",
    "aria-label": "Show on the Timeline",
    tabIndex: -1,
  }, icon("timeline", 13));
}

/** The part before a name in a table of groups: the button that opens a group, or space for it. */
function chevron({ data, api, node }: CellParams): ReactElement | null {
  if (!isGroup(data)) return data["@row"] === "total" ? null : h("span", { className: "indent" });
  const open = data["@open"] ?? false;
  return h("button", {
    className: "profile-chevron",
    type: "button",
    tabIndex: -1,
    "aria-expanded": String(open),
    "aria-label": open ? "Collapse the group" : "Expand the group",
    onClick: (event: Event) => {
      event.stopPropagation();
      setOpen(api, node, !open);
    },
  }, icon("chevron", 12));
}

/** A name that is truncated in the middle if it does not fit; copying yields `whole`. */
function cutName(shown: unknown, whole: unknown): ReactElement {
  const [head, tail] = middleCut(String(shown ?? ""));
  return h(
    "span",
    { className: "cut-name", "data-name": String(whole ?? "") },
    h("span", { className: "head" }, head),
    tail ? h("span", { className: "tail" }, tail) : null,
  );
}

export function ProfileName(params: CellParams & NameParams): ReactElement {
  const { data, value, valueFormatted, linked, trace, tree } = params;
  const size = data["@size"];
  return h(
    "div",
    { className: "profile-name" + (data["@in"] === undefined ? "" : " inside") },
    tree ? chevron(params) : null,
    toTimeline(data, trace, value, linked),
    value === ""
      ? h("span", { className: "dim" }, "unknown")
      : cutName(data["@short"] ?? valueFormatted ?? value, value),
    size === undefined ? null : h("span", { className: "size" }, integer(size)),
  );
}

export function ProfileFrame({ data, value }: CellParams): ReactElement {
  const [tail, head] = frameParts(String(value ?? ""));
  return h(
    "div",
    { className: "cut-name", style: { paddingLeft: Math.min(data.depth || 0, 40) * 12 + "px" } },
    h("span", { className: "tail" }, tail),
    h("span", { className: "head dim" }, "  " + head),
  );
}

export function ProfileSpread({ value }: { value: unknown }): ReactElement | null {
  if (!Array.isArray(value)) return null;
  const { bars, words } = spreadOf(value);
  const parts = bars.map(({ tall, title }, key) => {
    const x = key * WIDTH;
    return h(
      "g",
      { key },
      h("rect", { className: "hit", x, y: 0, width: WIDTH, height: HEIGHT }),
      tall ? h("rect", { className: "bar", x, y: HEIGHT - tall, width: WIDTH - 0.75, height: tall }) : null,
      h("title", {}, title),
    );
  });
  const size = { width: WIDTH * bars.length, height: HEIGHT };
  return h("svg", { className: "profile-spread", ...size, role: "img", "aria-label": words }, ...parts);
}
