// What the page says while its server is away.
import { make } from "../core/dom.ts";
import { duration } from "../cards/step_slider.ts";
import { restPanel } from "./layout.ts";
import { live } from "./live.ts";

/** A connection that comes back sooner is not worth a word. */
const GRACE_MS = 1500;

let waiting = 0;
let counting = 0;
let banner: HTMLElement | null = null;

function shows(lostAt: number): HTMLElement {
  const since = make("span", { className: "since", "aria-hidden": "true" });
  const count = () => since.textContent = `for ${duration(Math.round((Date.now() - lostAt) / 1000))}`;
  count();
  counting = window.setInterval(count, 1000);
  const retry = make("button", { type: "button", className: "primary" }, "Retry");
  retry.addEventListener("click", () => live.retry());
  return make(
    "div",
    { id: "disconnected", role: "alert" },
    make("strong", {}, "Disconnected, retrying …"),
    since,
    make("span", {}, "Is stepscope still running?"),
    retry,
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
  if (lostAt === null) return;
  waiting = window.setTimeout(() => {
    document.documentElement.classList.add("disconnected");
    restPanel("server", true);
    document.body.append(banner = shows(lostAt));
  }, GRACE_MS);
});
