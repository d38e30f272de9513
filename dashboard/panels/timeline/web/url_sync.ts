/** Tells the page which range is visible once movement stops. */

import type { Viewport } from "./viewport.ts";

const RETELL_MS = 350;

export class Report {
  readonly tell: (range: string) => void;
  reported = "";
  seen = "";
  restsSince = 0;

  /** @param tell receives `START:END` in ns, or an empty string if everything is visible */
  constructor(tell: (range: string) => void) {
    this.tell = tell;
  }

  forget() {
    this.reported = "";
    this.seen = "";
    this.restsSince = 0;
  }

  /** The visible range as text; empty if everything is visible. */
  key(viewport: Viewport): string {
    const [start, end] = viewport.target;
    return viewport.showsAll ? "" : `${Math.round(start)}:${Math.round(end)}`;
  }

  /** Records a range that the page already knows. */
  known(viewport: Viewport) {
    this.reported = this.key(viewport);
  }

  tick(viewport: Viewport, now: number) {
    const key = this.key(viewport);
    if (key !== this.seen) {
      this.seen = key;
      this.restsSince = now;
    }
    if (key === this.reported || now - this.restsSince < RETELL_MS) return;
    this.reported = key;
    this.tell(key);
  }
}
