// What the page says while its server is away, and how it gets what it could not have meanwhile.
import { onFailedCallback } from "../core/dash.ts";
import { make } from "../core/dom.ts";
import { onLostScript } from "../core/lost_scripts.ts";
import { retryButton } from "../cards/loading.ts";
import { duration } from "../cards/step_slider.ts";
import { restPanel } from "./layout.ts";
import { live } from "./live.ts";
import { view } from "./view.ts";

/** A connection that comes back sooner is not worth a word. */
const GRACE_MS = 1500;

/** That a server is gone is known sooner, as its event stream ends. */
const NOTICED_MS = 3000;

/** Pauses before a server that responds to some requests is asked again: each is twice as long as the one before. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [1000, 30000];

let waiting = 0;
let lacksScripts = false;
let counting = 0;
let banner: HTMLElement | null = null;

function shows(lostAt: number): HTMLElement {
  const since = make("span", { className: "since", "aria-hidden": "true" });
  const count = () => since.textContent = `for ${duration(Math.round((Date.now() - lostAt) / 1000))}`;
  count();
  counting = window.setInterval(count, 1000);
  return make(
    "div",
    { id: "disconnected", role: "alert" },
    make("strong", {}, "Disconnected, retrying …"),
    since,
    make("span", {}, "Is stepscope still running?"),
    retryButton(live.retry),
  );
}

live.onConnection((lostAt) => {
  clearTimeout(waiting);
  clearInterval(counting);
  const hadFocus = banner?.contains(document.activeElement);
  banner?.remove();
  banner = null;
  document.documentElement.classList.toggle("disconnected", false);
  restPanel("server", false);
  if (hadFocus) document.getElementById("panel")?.focus();
  if (lostAt === null) {
    if (lacksScripts) location.reload();
    return;
  }
  waiting = window.setTimeout(() => {
    document.documentElement.classList.add("disconnected");
    restPanel("server", true);
    document.body.append(banner = shows(lostAt));
  }, GRACE_MS);
});

/** Whether a page that did not come with its scripts was loaded again, which did not help. */
const isReloaded = (): boolean =>
  (performance.getEntriesByType("navigation")[0] as PerformanceNavigationTiming | undefined)?.type === "reload";

/** The address says what the page shows. Where the server is there, it had no answer in that moment, or has none. */
function beginAnew() {
  if (isReloaded()) return;
  if (live.isConnected) location.reload();
  // A page that is slow has not asked for a connection yet.
  else setTimeout(beginAnew, NOTICED_MS);
}

onLostScript(() => {
  if (lacksScripts) return;
  lacksScripts = true;
  setTimeout(beginAnew, NOTICED_MS);
});

let pause = 0;
let failedAt = -Infinity;
let asking = 0;

// Whose request it was is not known: cards ask by themselves, and nobody else does for the frame and the open tab.
onFailedCallback(() => {
  // A connection that comes back has all asked for again.
  if (asking || !live.isConnected) return;
  const now = performance.now();
  pause = now - failedAt > 2 * LONGEST_PAUSE_MS ? FIRST_PAUSE_MS : Math.min(2 * pause, LONGEST_PAUSE_MS);
  failedAt = now;
  asking = window.setTimeout(() => {
    asking = 0;
    view.askAgain();
  }, pause);
});
