/** Tells the page what is visible, once the hand rests. */

const RETELL_MS = 350;

export class Report {
  /** @param {(range: string) => void} tell gets `START:END` in ns, and an empty text where all is visible */
  constructor(tell) {
    this.tell = tell;
    this.forget();
  }

  forget() {
    this.told = "";
    this.seen = "";
    this.restsSince = 0;
  }

  /** What is visible, as text that is empty where that is all. @param {any} viewport */
  key(viewport) {
    const [start, end] = viewport.target;
    return viewport.showsAll ? "" : `${Math.round(start)}:${Math.round(end)}`;
  }

  /** What the page knows already. @param {any} viewport */
  known(viewport) {
    this.told = this.key(viewport);
  }

  /** @param {any} viewport @param {number} now */
  tick(viewport, now) {
    const key = this.key(viewport);
    if (key !== this.seen) {
      this.seen = key;
      this.restsSince = now;
    }
    if (key === this.told || now - this.restsSince < RETELL_MS) return;
    this.told = key;
    this.tell(key);
  }
}
