/** One of the two pictures of the large view: its choice, its pixels and its frames. */
import { numbers } from "../../../web/core/dom.ts";
import { messageOf, MissingError } from "../../../web/core/request.ts";
import { nearest, type Point, pointsOf } from "../../../web/core/steps.ts";
import { type Film, frames, still } from "./decode.ts";
import type { PictureFacts, SeriesSteps } from "./messages.generated.ts";
import * as pictures from "./pictures.ts";
import type { Picture, Wanted } from "./pictures.ts";
import { shrink } from "./pixels.ts";
import type { Pixels } from "./png.ts";
import { settings } from "./settings.generated.ts";
import { read } from "./settings.ts";

/** Identifies a picture. */
export interface Choice {
  run: string;
  tag: string;
  /** null follows the newest */
  step: number | null;
  nth: number;
  sample: number;
}
interface Series {
  run: string;
  tag: string;
  epoch: string;
  points: Point[];
}

/** The current steps of a series; null if there is none. */
async function seriesOf(run: string, tag: string): Promise<Series | null> {
  try {
    const { steps, epoch } = await pictures.api.ask<SeriesSteps>("steps", { run, tag });
    return { run, tag, epoch, points: pointsOf(numbers(steps)) };
  } catch (error) {
    if (error instanceof MissingError) return null;
    throw error;
  }
}

/** An action to perform once something is known. */
interface Waiting {
  isKnown: () => boolean;
  act: () => void;
}

export class Slot {
  choice: Choice;
  /** colors of its run */
  light = "#868e96";
  dark = "#868e96";
  series: Series | null = null;
  pixels: Pixels | null = null;
  facts: PictureFacts | null = null;
  error = "";
  url = "";
  busy = false;
  /** its pixels at another size, named after both */
  resized: { name: string; pixels: Pixels | null } | null = null;
  /** set for animations */
  frames: { count: number; at: number; playing: boolean } | null = null;
  #changed: () => void;
  #waiting: Waiting[] = [];
  #shown = "";
  #ticket = 0;
  #renewals = 0;
  #ending = new AbortController();
  #film: Film | null = null;
  #filmTimer = 0;

  /** @param changed called whenever there is something new to show */
  constructor(choice: Choice, changed: () => void) {
    this.choice = choice;
    this.#changed = () => {
      this.#actWhereKnown();
      changed();
    };
  }

  /** Performs a key's action, as soon as what it needs has arrived if that is still loading. */
  once(isKnown: () => boolean, act: () => void): void {
    if (isKnown()) act();
    else if (this.busy) this.#waiting.push({ isKnown, act });
  }

  #actWhereKnown(): void {
    const known = this.#waiting.filter(({ isKnown }) => isKnown());
    this.#waiting = this.#waiting.filter((one) => !known.includes(one));
    known.forEach(({ act }) => act());
  }

  points(): Point[] {
    return this.series?.points ?? [];
  }

  /** Index of the visible point. */
  at(): number {
    const { step, nth } = this.choice;
    return step === null ? this.points().length - 1 : nearest(this.points(), step, nth);
  }

  point(): Point | null {
    return this.points()[this.at()] ?? null;
  }

  wanted(): Wanted | null {
    const { run, tag, sample } = this.choice;
    const point = this.point();
    return this.series && point && { run, tag, epoch: this.series.epoch, point, sample };
  }

  /** Goes to another picture, in the same series unless a run or tag is given. */
  async set(news: Partial<Choice>): Promise<void> {
    const { run, tag } = this.choice;
    this.choice = { ...this.choice, ...news };
    if (this.choice.run !== run || this.choice.tag !== tag || !this.series) await this.renew();
    else await this.#load();
  }

  /** Requests the current steps again. */
  async renew(): Promise<void> {
    const { run, tag } = this.choice;
    const own = this.#renewals += 1;
    this.busy = true;
    let series: Series | null;
    try {
      series = await seriesOf(run, tag);
    } catch (error) {
      if (own !== this.#renewals) return;
      // The known steps are still valid.
      if (this.series?.run === run && this.series.tag === tag) return await this.#load();
      this.series = null;
      return this.#fail(messageOf(error));
    }
    if (own !== this.#renewals) return;
    this.series = series;
    const last = series?.points.at(-1);
    if (!last) return this.#fail(series ? "There is no image yet." : "This run has no images with this tag.");
    // A picture at the end stays at the end.
    if (this.choice.step === last.step && this.point() === last) this.choice = { ...this.choice, step: null, nth: 0 };
    await this.#load();
  }

  async move(index: number): Promise<void> {
    const points = this.points();
    if (!points.length) return;
    const bound = Math.min(Math.max(index, 0), points.length - 1);
    const { step, nth } = points[bound];
    await this.set(bound === points.length - 1 ? { step: null, nth: 0 } : { step, nth });
  }

  #fail(error: string): void {
    this.#ticket += 1;
    this.#waiting = [];
    Object.assign(this, { pixels: null, facts: null, frames: null, error, busy: false });
    this.#shown = "";
    this.#changed();
  }

  async #load(): Promise<void> {
    const wanted = this.wanted();
    if (!wanted) {
      this.busy = false;
      return this.#changed();
    }
    const name = pictures.address(wanted, 0);
    if (this.#shown === name) {
      this.busy = false;
      return this.#changed();
    }
    const own = this.#ticket += 1;
    this.#ending.abort();
    const ending = this.#ending = new AbortController();
    this.busy = true;
    // Going back before the new picture arrives requests the previous one again.
    this.#shown = "";
    this.#changed();
    try {
      const found = await pictures.look(wanted, 0, ending.signal);
      if (own !== this.#ticket) return;
      if (!pictures.isPicture(found)) return this.#fail(found.error);
      await this.#decode(found, () => own === this.#ticket);
      if (own === this.#ticket) this.#shown = name;
    } catch (error) {
      if (own === this.#ticket && !ending.signal.aborted) {
        this.#fail(`The image cannot be decoded: ${messageOf(error)}.`);
      }
    }
  }

  async #decode({ facts, blob, url }: Picture, current: () => boolean): Promise<void> {
    this.#endFilm();
    const moving = facts.frames > 1;
    const film = moving ? await frames(blob, facts.mime_type) : null;
    if (!current()) return film?.close();
    this.#film = film;
    const pixels = film ? (await film.frame(0)).pixels : moving ? null : await still(blob, facts.mime_type);
    if (pixels) await shrink(pixels);
    if (!current()) return;
    this.frames = film && { count: film.count, at: 0, playing: true };
    Object.assign(this, { facts, url, error: "", busy: false, pixels });
    if (film) this.playFrames(true);
    this.#changed();
  }

  // --- animations ------------------------------------------------------------------------------------------

  #endFilm(): void {
    clearTimeout(this.#filmTimer);
    this.#film?.close();
    this.#film = null;
  }

  /** Shows a frame and returns its duration; 0 if another animation has replaced this one. */
  async #showFrame(index: number): Promise<number> {
    const film = this.#film;
    if (!film) return 0;
    const { pixels, ms } = await film.frame(index);
    if (!pixels.smaller) await shrink(pixels);
    if (this.#film !== film || !this.frames) return 0;
    this.pixels = pixels;
    this.frames.at = index;
    this.#changed();
    return ms;
  }

  /** Called by the user: stops playback and shows a frame, wrapping around at the ends. */
  async showFrame(index: number): Promise<void> {
    if (!this.frames) return;
    this.frames.playing = false;
    clearTimeout(this.#filmTimer);
    const { count } = this.frames;
    await this.#showFrame((index + count) % count);
  }

  async turnFrame(by: number): Promise<void> {
    if (this.frames) await this.showFrame(this.frames.at + by);
  }

  playFrames(on: boolean): void {
    clearTimeout(this.#filmTimer);
    const film = this.#film;
    if (!film || !this.frames) return;
    this.frames.playing = on;
    const tick = async () => {
      if (!this.frames) return;
      const ms = await this.#showFrame((this.frames.at + 1) % this.frames.count).catch(() => 0);
      if (this.#film === film && this.frames.playing && ms) wait(ms);
    };
    const wait = (ms: number) => void (this.#filmTimer = window.setTimeout(tick, ms / Number(read(settings.speed))));
    if (on) wait(100);
    this.#changed();
  }

  toggleFrames(): void {
    if (this.frames) this.playFrames(!this.frames.playing);
  }

  close(): void {
    this.#ticket += 1;
    this.#renewals += 1;
    this.#ending.abort();
    this.#endFilm();
  }
}
