/** The page's stepper with a play button, and a message if no picture was logged at the step that was typed. */
import { tip } from "../../../web/core/commands.ts";
import { becomes, iconButton, make, stepText } from "../../../web/core/dom.ts";
import * as plain from "../../../web/core/stepper.ts";
import { nearest, type Point } from "../../../web/core/steps.ts";
import { settings } from "./settings.generated.ts";
import { read } from "./settings.ts";

const LONGEST_WAIT_MS = 3000;

/** what a stepper moves along */
export interface Track {
  positions: () => Point[];
  /** index of the current position */
  at: () => number;
  move: (at: number) => void;
  /** whether pictures from the last move are still loading */
  busy: () => boolean;
}

/** Call `refresh` when the track has changed. */
export class Stepper {
  readonly element: HTMLElement;
  #track: Track;
  #plain: ReturnType<typeof plain.create>;
  #play = iconButton("play", "Play", () => this.toggle());
  #said = make("output", { className: "said" });
  #timer = 0;

  constructor(track: Track, label: string) {
    this.#track = track;
    this.#plain = plain.create({
      count: () => track.positions().length,
      at: track.at,
      said: () => stepText(track.positions()[track.at()].step),
      hint: () => "at the last step, new images appear automatically",
      move: (at) => this.to(at),
      typed: (step) => this.#typed(step),
      mistyped: (text) => this.#said.textContent = `“${text.slice(0, 20)}” is not a step`,
      settled: () => {},
    }, {
      label,
      previous: tip({ title: "Previous step", keys: ["ArrowLeft"] }),
      next: tip({ title: "Next step", keys: ["ArrowRight"] }),
    });
    this.element = this.#plain.element;
    this.#play.classList.add("act-play");
    this.element.prepend(this.#play);
    this.element.append(this.#said);
  }

  /** Shows the step nearest to the one that was typed. */
  #typed(wanted: number): void {
    const { positions, at, move } = this.#track;
    if (this.last() < 0) return;
    // Both Enter and leaving the field may call this; the second time must change nothing and keep the message.
    if (wanted === positions()[at()].step) return;
    const place = nearest(positions(), wanted, 0);
    const found = positions()[place].step;
    if (place !== at()) move(place);
    this.#said.textContent = found === wanted ? "" : `no ${stepText(wanted)}, nearest is ${stepText(found)}`;
  }

  last(): number {
    return this.#track.positions().length - 1;
  }

  to(at: number): void {
    // The keys of a card work before its points have arrived.
    if (this.last() < 0) return;
    this.#said.textContent = "";
    this.#track.move(Math.min(Math.max(at, 0), this.last()));
  }

  move(by: number): void {
    this.to(this.#track.at() + by);
  }

  toggle(): void {
    if (this.#timer) this.stop();
    else this.#start();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.refresh();
  }

  #start(): void {
    const { at, move, busy } = this.#track;
    if (this.last() < 1) return;
    if (at() >= this.last()) move(0);
    const pause = () => 1000 / Number(read(settings.rate));
    let due = performance.now();
    const tick = () => {
      if (!this.element.isConnected) return this.stop();
      const now = performance.now();
      // Wait for pictures that are still loading, so that each is seen.
      if (busy() && now - due < LONGEST_WAIT_MS) return void (this.#timer = window.setTimeout(tick, 15));
      if (at() >= this.last()) return this.stop();
      move(at() + 1);
      due = now;
      this.#timer = window.setTimeout(tick, pause());
    };
    this.#timer = window.setTimeout(tick, pause());
    this.refresh();
  }

  refresh(): void {
    this.#plain.refresh();
    this.#play.hidden = this.last() < 1;
    if (this.#timer) becomes(this.#play, "stop", "Pause");
    else becomes(this.#play, "play", "Play");
  }
}
