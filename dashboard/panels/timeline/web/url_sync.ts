/** Tells the page what is visible, once the hand rests. */

import type { Viewport } from "./viewport.ts";

const RETELL_MS = 350;

export class Report {
  readonly tell: (range: string) => void;
  reported = "";
  seen = "";
  restsSince = 0;

  /** @param tell gets `START:END` in ns, and an empty text where all is visible */
  constructor(tell: (range: string) => void) {
    this.tell = tell;
  }

  forget() {
    this.reported = "";
    this.seen = "";
    this.restsSince = 0;
  }

  /** What is visible, as text that is empty where that is all. */
  key(viewport: Viewport): string {
    const [start, end] = viewport.target;
    return viewport.showsAll ? "" : `${Math.round(start)}:${Math.round(end)}`;
  }

  /** What the page knows already. */
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
