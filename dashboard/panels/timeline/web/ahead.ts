/** The summary of the trace that the address names, asked for while the page is still loading. */
import * as data from "./data.ts";

// A large trace takes seconds to read; the page need not be there for the server to begin.
const asked = new URLSearchParams(location.search);
const first = asked.get("tab") === "timeline" ? asked.get("timeline.trace") : null;
let early = first
  ? { id: first, answer: fetch(`api/timeline/trace?${new URLSearchParams({ id: first })}`).catch(() => null) }
  : null;
export const ahead = {
  /** What is known of a trace: asked for while the page was loading, or now. */
  async summary(api: string, id: string) {
    const known = early?.id === id ? await early.answer : null;
    early = null;
    const response = known?.ok ? known : await data.request(api, "trace", { id });
    return response.json();
  },
};
