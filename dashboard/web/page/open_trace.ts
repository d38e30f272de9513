/** Traces from the user's own files: chosen with a button or dropped on the page, and opened on the Timeline. */
import { make, within } from "../core/dom.ts";
import { fileSize } from "../core/numbers.ts";
import { messageOf } from "../core/request.ts";
import { type Upload, upload } from "../core/upload.ts";
import type { DroppedTrace } from "./messages.generated.ts";
import { chosen } from "./tabs.ts";
import { view } from "./view.ts";

const ROUTE = "api/traces/drop";
const KINDS = ".json,.gz,.zst,.pb,.pbtxt,.sstrace";
/** Panels that accept other files themselves. */
const OTHERS = ".pj-panel";
const MOST = 8;

// --- what is shown -------------------------------------------------------------------------------------------

const place = make("b");
const zone = make(
  "div",
  { id: "trace-zone", hidden: true },
  make(
    "div",
    {},
    place,
    make("span", {}, "Chrome JSON (PyTorch, JAX, viztracer, …), xplane.pb, RunMetadata; several are compared"),
  ),
);
const bar = make("progress", { max: 1, "aria-label": "Sent" });
const text = make("span", { role: "status" });
const cancel = make("button", { type: "button", className: "quiet" }, "Cancel");
const go = make("button", { type: "button", className: "link", hidden: true }, "Open");
const box = make("div", { id: "trace-sending", hidden: true }, text, bar, go, cancel);
const file = make("input", {
  type: "file",
  accept: KINDS,
  multiple: true,
  hidden: true,
  "aria-label": "Files of traces",
});

let sending: Upload<DroppedTrace> | null = null;
let wanted = "timeline";

function tell(one: File, share: number): void {
  bar.hidden = false;
  go.hidden = true;
  if (share < 1) bar.value = share;
  else bar.removeAttribute("value");
  text.textContent = share < 1 ? `Uploading ${one.name}, ${fileSize(one.size)}` : `Reading ${one.name}…`;
  cancel.textContent = "Cancel";
  box.classList.remove("bad");
  box.hidden = false;
}

/** Shows the outcome; stays until closed. */
function say(ended: string): void {
  text.textContent = ended;
  bar.hidden = true;
  cancel.textContent = "Close";
  box.hidden = false;
}

function fail(reason: string): void {
  say(reason);
  box.classList.add("bad");
  box.hidden = !reason;
}

cancel.addEventListener("click", () => {
  if (sending) sending.cancel();
  else box.hidden = true;
});

// --- sending -------------------------------------------------------------------------------------------------

/** Opens traces on a tab: the first, with the others below it. */
function open([first, ...others]: readonly string[], tab: string): void {
  box.hidden = true;
  if (tab === "profile") view.open("profile", { "profile.trace": [first] });
  else view.open("timeline", { "timeline.trace": [first], "timeline.range": [""], "timeline.compare": others });
}

/** The tab in the address, which only the user changes. */
const chosenTab = () => view.values("tab")[0] ?? "";

/**
 * Sends files one after another, and opens them on a tab. If the user has switched to another tab meanwhile, they are
 * only offered, so that the user can stay there.
 */
async function send(files: readonly File[], tab: string): Promise<void> {
  sending?.cancel();
  const begunOn = chosenTab();
  const ids: string[] = [];
  for (const one of files.slice(0, MOST)) {
    tell(one, 0);
    const own = sending = upload<DroppedTrace>(
      `${ROUTE}?${new URLSearchParams({ name: one.name })}`,
      one,
      (share) => tell(one, share),
    );
    try {
      ids.push((await own.done).id);
    } catch (error) {
      // Another file has replaced this one.
      if (sending !== own) return;
      sending = null;
      return fail(messageOf(error));
    }
  }
  sending = null;
  if (!ids.length) return;
  if ([begunOn, tab].includes(chosenTab())) return open(ids, tab);
  const [first, ...others] = files.slice(0, MOST);
  say(others.length ? `${first.name} and ${others.length} more are ready.` : `${first.name} is ready.`);
  go.onclick = () => open(ids, tab);
  go.hidden = false;
}

/** Lets the user choose files; they are opened on the Timeline, or on the tab "profile". */
export function ask(tab = "timeline"): void {
  wanted = tab;
  file.click();
}

file.addEventListener("change", () => {
  const files = [...(file.files ?? [])];
  file.value = "";
  void send(files, wanted);
});

// --- the page ------------------------------------------------------------------------------------------------

const onProfile = () => chosen()?.name === "profile";
const isMeant = ({ dataTransfer }: DragEvent) =>
  Boolean(dataTransfer?.types.includes("Files")) && !document.querySelector(OTHERS);

addEventListener("dragover", (event) => {
  if (!isMeant(event)) return;
  event.preventDefault();
  place.textContent = onProfile() ? "Open on the Profile tab" : "Open on the Timeline tab";
  zone.hidden = false;
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) zone.hidden = true;
});
addEventListener("drop", (event) => {
  if (!isMeant(event)) return;
  event.preventDefault();
  zone.hidden = true;
  void send([...(event.dataTransfer?.files ?? [])], onProfile() ? "profile" : "timeline");
});
document.addEventListener("click", (event) => {
  const button = within(event, ".open-trace");
  if (button) ask(button.closest(".profile-panel") ? "profile" : "timeline");
});

document.body.append(zone, box, file);
