/** The summary of the trace named in the address, requested while the page is still loading. */
import type { Api } from "../../../web/core/request.ts";
import type { ClosedTrace, TraceSummary } from "./messages.generated.ts";

// A large trace takes seconds to read; the server can start before the page is ready.
const requested = new URLSearchParams(location.search);
const first = requested.get("tab") === "timeline" ? requested.get("timeline.trace") : null;
let early = first
  ? { id: first, answer: fetch(`api/timeline/trace?${new URLSearchParams({ id: first })}`).catch(() => null) }
  : null;
export const ahead = {
  /** The summary of a trace: requested while the page was loading, or now. */
  async summary(api: Api, id: string): Promise<TraceSummary | ClosedTrace> {
    const known = early?.id === id ? await early.answer : null;
    early = null;
    return known?.ok ? await known.json() : await api.ask("trace", { id });
  },
};
