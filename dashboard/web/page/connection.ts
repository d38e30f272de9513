// What the page shows while its server is unreachable or fails, and how it recovers what it missed meanwhile.
import { onFailedCallback } from "../core/dash.ts";
import { make } from "../core/dom.ts";
import { onLostScript } from "../core/lost_scripts.ts";
import { retryButton } from "../cards/loading.ts";
import { duration } from "../cards/step_slider.ts";
import { removeNotice, restPanel } from "./layout.ts";
import { live } from "./live.ts";
import { view } from "./view.ts";

/** A connection that is back sooner is not worth a message. */
const GRACE_MS = 1500;

/** By then, a lost server has been noticed, since its event stream ends. */
const NOTICED_MS = 3000;

/** Pauses before a server that responds to some requests is asked again: each is twice as long as the last. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [1000, 30000];

let waiting = 0;
let lacksScripts = false;
let counting = 0;
let banner: HTMLElement | null = null;
let pause = 0;
let failedAt = -Infinity;
let asking = 0;
let recovering = 0;
let failing: HTMLElement | null = null;

function told(lostAt: number): Node[] {
  if (live.needsToken) return [make("strong", {}, "This dashboard requires a token"), tokenButton()];
  const since = make("span", { className: "since", "aria-hidden": "true" });
  const count = () => since.textContent = `for ${duration(Math.round((Date.now() - lostAt) / 1000))}`;
  count();
  counting = window.setInterval(count, 1000);
  return [
    make("strong", {}, "Disconnected, retrying…"),
    since,
    make("span", {}, "Is stepscope still running?"),
    retryButton(live.retry),
  ];
}

/** Reloads the page, whose place the form for the token takes; not without a click, as there may be unsaved input. */
function tokenButton(): HTMLButtonElement {
  const button = make("button", { type: "button", className: "primary" }, "Enter token");
  button.addEventListener("click", () => location.reload());
  return button;
}

live.onConnection((lostAt) => {
  clearTimeout(waiting);
  clearInterval(counting);
  // What failed is requested again once the connection is back.
  showFailing(false);
  document.documentElement.classList.toggle("disconnected", false);
  restPanel("server", false);
  removeNotice(banner);
  banner = null;
  if (lostAt === null) {
    if (lacksScripts) location.reload();
    return;
  }
  waiting = window.setTimeout(() => {
    document.documentElement.classList.add("disconnected");
    restPanel("server", true);
    banner = make("div", { id: "disconnected", className: "server-alert", role: "alert" }, ...told(lostAt));
    document.body.append(banner);
  }, lostAt + GRACE_MS - Date.now());
});

/** Whether the page has already been reloaded, which did not bring the missing scripts. */
const isReloaded = (): boolean =>
  (performance.getEntriesByType("navigation")[0] as PerformanceNavigationTiming | undefined)?.type === "reload";

/** Reloads the page, whose address holds the view. A reachable server had no answer at that moment, or has none. */
function beginAnew() {
  if (isReloaded()) return;
  if (live.isConnected) location.reload();
  // A slow page may not have requested a connection yet.
  else setTimeout(beginAnew, NOTICED_MS);
}

onLostScript(() => {
  if (lacksScripts) return;
  lacksScripts = true;
  setTimeout(beginAnew, NOTICED_MS);
});

function showFailing(isFailing: boolean) {
  if (isFailing === (failing !== null)) return;
  removeNotice(failing);
  failing = null;
  if (!isFailing) return;
  failing = make(
    "div",
    { id: "failing", className: "server-alert", role: "alert" },
    make("strong", {}, "Part of the page could not be updated, retrying…"),
    make("span", {}, "The terminal where stepscope runs shows why."),
    retryButton(askNow),
  );
  document.body.append(failing);
}

function askNow() {
  clearTimeout(asking);
  asking = 0;
  view.askAgain();
  // Which requests repeat the failed one is unknown: it has recovered if none fails for a while.
  clearTimeout(recovering);
  recovering = window.setTimeout(showFailing, 2 * pause + NOTICED_MS, false);
}

// The source of the request is unknown: cards retry on their own, but nothing else does for the frame and the open tab.
onFailedCallback(() => {
  // A restored connection requests everything again.
  if (asking || !live.isConnected) return;
  clearTimeout(recovering);
  const now = performance.now();
  const isFirst = now - failedAt > 2 * LONGEST_PAUSE_MS;
  pause = isFirst ? FIRST_PAUSE_MS : Math.min(2 * pause, LONGEST_PAUSE_MS);
  failedAt = now;
  // A failure that is over at once is not worth a message.
  if (!isFirst) showFailing(true);
  asking = window.setTimeout(askNow, pause);
});
