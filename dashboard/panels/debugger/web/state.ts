/** What all sub-views are told. */
import type { Overview, Recording } from "./messages.generated.ts";

export interface State {
  /** Of the open recording. */
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
  /** What stands in the toolbar while it is open. */
  readonly tools: readonly HTMLElement[];
  /** Brings it up to date with the state and the address; called often. */
  show(state: State): void;
  /** It was put on the page. */
  opened?(): void;
  facts(): Record<string, unknown>;
}
