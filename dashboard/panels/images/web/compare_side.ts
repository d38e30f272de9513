// @ts-nocheck
// The images panel: one of the two pictures of the large view: which it is, its pixels, its frames.
import * as imagesDecode from "./decode.ts";
import * as imagesPixels from "./pixels.ts";
import * as imagesSteps from "./steps.ts";
import * as pictures from "./pictures.ts";
import * as settings from "./settings.ts";

/** The steps of a series, as they are now. */
async function seriesOf(run, tag) {
  const answer = await fetch("/api/images/steps?" + new URLSearchParams([["run", run], ["tag", tag]]));
  if (!answer.ok) return null;
  const { steps, epoch } = await answer.json();
  return { run, tag, epoch, points: imagesSteps.points(steps) };
}

/**
 * @param start no step is the newest, whatever comes
 * @param changed called whenever there is something new to show
 */
function makeSlot(start: { run: string; tag: string; step: number | null; sample: number }, changed: () => void) {
  const slot = {
    ...start,
    series: null,
    pixels: null,
    facts: null,
    error: "",
    url: "",
    busy: false,
    resized: null,
    /** Of an animation. */
    frames: null as { count: number; at: number; playing: boolean } | null,
    at,
    point,
    wanted,
    set,
    renew,
    move,
    turnFrame,
    playFrames,
    close,
    blob: null,
    said: "",
  };
  let ticket = 0;
  let ending = null;
  let film = null;
  let filmTimer = 0;

  /** Index of the point that is shown. */
  function at() {
    const { points } = slot.series;
    return slot.step === null ? points.length - 1 : imagesSteps.nearest(points, slot.step, slot.nth || 0);
  }
  function point() {
    return slot.series && slot.series.points.length ? slot.series.points[at()] : null;
  }
  function wanted() {
    return { run: slot.run, tag: slot.tag, epoch: slot.series.epoch, point: point(), sample: slot.sample };
  }

  /** Goes to another picture; of another series unless it names neither run nor tag. */
  async function set(news) {
    const other = (news.run !== undefined && news.run !== slot.run) ||
      (news.tag !== undefined && news.tag !== slot.tag);
    Object.assign(slot, news);
    if (other || !slot.series) await renew();
    else await load();
  }

  /** Asks again which steps there are. */
  async function renew() {
    const { run, tag } = slot;
    slot.busy = true;
    const series = await seriesOf(run, tag).catch(() => null);
    if (slot.run !== run || slot.tag !== tag) return;
    slot.series = series;
    if (!series || !series.points.length) {
      return fail(series ? "There is no picture yet." : "This run has no pictures of this tag.");
    }
    const { points } = series;
    // At the end it stays at the end.
    if (slot.step === points[points.length - 1].step && !slot.nth) slot.step = null;
    await load();
  }

  async function move(index) {
    if (!slot.series || !slot.series.points.length) return;
    const { points } = slot.series;
    const bound = Math.min(Math.max(index, 0), points.length - 1);
    const last = bound === points.length - 1;
    await set({ step: last ? null : points[bound].step, nth: last ? 0 : points[bound].nth });
  }

  function fail(error) {
    Object.assign(slot, { pixels: null, facts: null, frames: null, error, busy: false, shown: "", blob: null });
    changed();
  }

  async function load() {
    const name = pictures.address(wanted(), 0);
    if (slot.shown === name) {
      slot.busy = false;
      return changed();
    }
    const mine = (ticket += 1);
    if (ending) ending.abort();
    ending = new AbortController();
    slot.busy = true;
    changed();
    try {
      const found = await pictures.look(wanted(), 0, ending.signal);
      if (mine !== ticket) return;
      if (found.error) return fail(found.error);
      await decode(found, () => mine === ticket);
      if (mine === ticket) slot.shown = name;
    } catch (error) {
      if (mine === ticket && !ending.signal.aborted) fail(`The picture cannot be decoded: ${error.message}.`);
    }
  }

  async function decode(found, current) {
    endFilm();
    const { facts, blob, url } = found;
    const opened = facts.frames > 1 ? await imagesDecode.frames(blob, facts) : null;
    if (!current()) return opened && opened.close();
    film = opened;
    const first = opened
      ? (await opened.frame(0)).pixels
      : facts.frames > 1
      ? null
      : await imagesDecode.still(blob, facts);
    if (first) await imagesPixels.shrink(first);
    if (!current()) return;
    const frames = opened ? { count: opened.count, at: 0, playing: true } : null;
    Object.assign(slot, { facts, url, blob, error: "", busy: false, frames, pixels: first });
    if (opened) playFrames(true);
    changed();
  }

  // --- animations ------------------------------------------------------------------------------------------

  function endFilm() {
    clearTimeout(filmTimer);
    if (film) film.close();
    film = null;
  }

  async function showFrame(index) {
    const from = film;
    const { pixels, ms } = await film.frame(index);
    if (film !== from) return 0;
    if (!pixels.smaller) await imagesPixels.shrink(pixels);
    slot.pixels = pixels;
    slot.frames.at = index;
    changed();
    return ms;
  }

  /** By hand: stops, and goes some frames on. */
  async function turnFrame(by, absolute) {
    if (!film) return;
    slot.frames.playing = false;
    clearTimeout(filmTimer);
    const { count } = slot.frames;
    await showFrame(absolute ? by : (slot.frames.at + by + count) % count);
  }

  function playFrames(on) {
    clearTimeout(filmTimer);
    if (!film) return;
    slot.frames.playing = on;
    const from = film;
    const tick = async () => {
      const next = (slot.frames.at + 1) % slot.frames.count;
      const ms = await showFrame(next).catch(() => 0);
      if (film === from && slot.frames && slot.frames.playing && ms) {
        filmTimer = setTimeout(tick, ms / settings.number("speed", 1));
      }
    };
    if (on) filmTimer = setTimeout(tick, 100 / settings.number("speed", 1));
    changed();
  }

  function close() {
    ticket += 1;
    if (ending) ending.abort();
    endFilm();
  }

  return slot;
}

export { makeSlot as slot };
