/** The state passed to all sub-views. */
import type { Overview, Recording } from "./messages.generated.ts";

export interface State {
  /** ID of the open recording. */
  id: string;
  run: string;
  /** Whether the run has curves. */
  curves: boolean;
  /** Changes with the recording's content. */
  version: string;
  overview: Overview;
  recordings: readonly Recording[];
  scheme: "light" | "dark";
}

export interface SubView {
  readonly element: HTMLElement;
  /** The toolbar content while the sub-view is open. */
  readonly tools: readonly HTMLElement[];
  /** Brings the sub-view up to date with the state and the address; called often. */
  show(state: State): void;
  /** Called when the sub-view was put on the page. */
  opened?(): void;
  facts(): Record<string, unknown>;
}
