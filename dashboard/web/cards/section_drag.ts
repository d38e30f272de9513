/** Lets sections be dragged to another place by their heads; during a drag, only heads are visible. */
import { bind } from "../core/commands.ts";
import { within } from "../core/dom.ts";

/** Pixels that the pointer moves before a drag begins. */
const STILL = 6;
/** The width in pixels of the edges where the panel scrolls automatically, and how far it scrolls each frame. */
const EDGE = 44;
const SPEED = 9;

/** The sections that a section may change places with, including itself, in order. */
type Siblings = (section: HTMLElement) => HTMLElement[];

interface Drag {
  section: HTMLElement;
  others: HTMLElement[];
  /** its position among its siblings, and the one it would be dropped at now */
  from: number;
  to: number;
  y: number;
}

const headOf = (section: HTMLElement) => section.querySelector<HTMLElement>(".group-head")!;

/** The position of a section among the others if it is dropped at a height. */
function placeAt(others: HTMLElement[], y: number): number {
  const below = others.findIndex((other) => {
    const { top, height } = headOf(other).getBoundingClientRect();
    return y < top + height / 2;
  });
  return below < 0 ? others.length : below;
}

class SectionDrag {
  private drag: Drag | null = null;
  private stop = new AbortController();
  private readonly siblings: Siblings;
  private readonly move: (section: HTMLElement, to: number) => void;

  constructor(siblings: Siblings, move: (section: HTMLElement, to: number) => void) {
    this.siblings = siblings;
    this.move = move;
    document.addEventListener("pointerdown", (event) => this.press(event));
  }

  private press(event: PointerEvent) {
    // A finger on the name scrolls.
    const hold = within(event, event.pointerType === "touch" ? ".act-section" : ".act-section, .group-toggle");
    const section = hold?.closest<HTMLElement>(".groups[data-panel] .group");
    if (!section || event.button !== 0 || !event.isPrimary) return;
    this.stop.abort();
    this.stop = new AbortController();
    const { signal } = this.stop;
    const { clientY: start, pointerId } = event;
    addEventListener("pointermove", (moved) => {
      if (moved.pointerId !== pointerId) return;
      if (!this.drag && Math.abs(moved.clientY - start) >= STILL) this.begin(section, pointerId);
      if (!this.drag) return;
      this.drag.y = moved.clientY;
      this.mark();
    }, { signal });
    addEventListener("pointerup", () => this.end(true), { signal });
    addEventListener("pointercancel", () => this.end(false), { signal });
    addEventListener("blur", () => this.end(false), { signal });
    bind(window, {
      Escape: () => {
        if (!this.drag) return false;
        this.end(false);
      },
    }, signal);
  }

  private begin(section: HTMLElement, pointerId: number) {
    const all = this.siblings(section);
    if (all.length < 2) return this.stop.abort();
    const head = headOf(section);
    // Releasing on the button where the drag began is not a click.
    head.setPointerCapture(pointerId);
    const before = head.getBoundingClientRect().top;
    const from = all.indexOf(section);
    all.forEach((one) => one.classList.add("only-head"));
    section.classList.add("dragged");
    this.drag = { section, others: all.filter((one) => one !== section), from, to: from, y: before };
    document.body.classList.add("dragging");
    // The head stays under the pointer, even though the content above it has disappeared.
    document.getElementById("panel")?.scrollBy(0, head.getBoundingClientRect().top - before);
    requestAnimationFrame(() => this.scroll());
  }

  /** Shows where the section would be. */
  private mark() {
    const { drag } = this;
    if (!drag) return;
    drag.to = placeAt(drag.others, drag.y);
    const { others, to, from } = drag;
    others.forEach((other, at) => {
      other.classList.toggle("drop-before", at === to && to !== from);
      other.classList.toggle("drop-after", at === others.length - 1 && to === others.length && to !== from);
    });
  }

  private scroll() {
    const { drag } = this;
    const panel = document.getElementById("panel");
    if (!drag || !panel) return;
    const { top, bottom } = panel.getBoundingClientRect();
    if (drag.y < top + EDGE) panel.scrollBy(0, -SPEED);
    else if (drag.y > bottom - EDGE) panel.scrollBy(0, SPEED);
    this.mark();
    requestAnimationFrame(() => this.scroll());
  }

  private end(takes: boolean) {
    const { drag } = this;
    this.stop.abort();
    if (!drag) return;
    this.drag = null;
    document.body.classList.remove("dragging");
    const { section, others, from, to } = drag;
    [section, ...others].forEach((one) => one.classList.remove("only-head", "dragged", "drop-before", "drop-after"));
    if (takes && to !== from) this.move(section, to);
    else headOf(section).scrollIntoView({ block: "nearest" });
  }
}

/** Lets sections be dragged; `move` receives the position where one was dropped. */
export function dragSections(siblings: Siblings, move: (section: HTMLElement, to: number) => void): void {
  new SectionDrag(siblings, move);
}
