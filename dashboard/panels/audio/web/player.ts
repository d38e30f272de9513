// @ts-nocheck
// The audio panel: what plays. One clip at a time; the one that played before stays loaded, to go back and forth.
import { view } from "../../../web/page/view.ts";

const MOST_LOADED = 3;

/** Loaded clips by URL, the one used last at the end. */
const loaded: Map<string, HTMLAudioElement> = new Map();
/** Why a clip does not play, by URL. */
const failed: Map<string, string> = new Map();
/** the clip that plays, or was paused last */
let current: string = "";
let ticking = 0;
/** Whatever moves is told as an event of the document. */
const tell = () => document.dispatchEvent(new Event("audio-moved"));

function tick() {
  ticking = 0;
  tell();
  const element = loaded.get(current);
  if (element && !element.paused) ticking = requestAnimationFrame(tick);
}

function follow() {
  if (!ticking) ticking = requestAnimationFrame(tick);
}

const setting = (name, otherwise) => Number(view.values("audio." + name)[0] ?? otherwise);

function adjust(element) {
  element.volume = Math.min(1, Math.max(0, setting("volume", 1)));
  element.playbackRate = setting("speed", 1) || 1;
  element.loop = view.values("audio.loop")[0] === "on";
}

function load(url) {
  let element = loaded.get(url);
  if (!element) {
    element = new Audio();
    element.preload = "auto";
    element.src = url;
    for (const event of ["play", "pause", "ended", "seeked", "loadedmetadata"]) element.addEventListener(event, follow);
    element.addEventListener("error", () => {
      if (element.error) failed.set(url, "The browser cannot play this clip. Download it to hear it.");
      follow();
    });
  }
  loaded.delete(url);
  loaded.set(url, element);
  for (const [other, old] of loaded) {
    if (loaded.size <= MOST_LOADED) break;
    if (other === current) continue;
    old.removeAttribute("src");
    old.load();
    loaded.delete(other);
  }
  return element;
}

/** Plays a clip, from `at` seconds if given; whatever else plays stops. */
async function play(url, at) {
  const before = loaded.get(current);
  if (before && current !== url) before.pause();
  current = url;
  failed.delete(url);
  const element = load(url);
  adjust(element);
  if (at !== undefined) element.currentTime = at;
  try {
    await element.play();
  } catch (error) {
    // A pause that came first is no failure.
    if (error.name !== "AbortError") failed.set(url, "The browser cannot play this clip. Download it to hear it.");
  }
  follow();
}

function pause() {
  const element = loaded.get(current);
  if (element) element.pause();
}

const playing = (url) => url === current && !!loaded.get(url) && !loaded.get(url).paused;

export const player = {
  play,
  pause,
  playing,
  toggle: (url) => (playing(url) ? pause() : play(url)),
  /** Goes to a place of a clip; it plays on if it plays. */
  seek(url, seconds) {
    const element = load(url);
    adjust(element);
    if (!playing(url)) {
      pause();
      current = url;
    }
    element.currentTime = Math.max(0, seconds);
    follow();
  },
  /** Goes on with another clip at the place where this one is. */
  swap(url) {
    const element = loaded.get(current);
    const at = element ? element.currentTime : 0;
    if (element && !element.paused) play(url, at);
    else player.seek(url, at);
  },
  /** Seconds into a clip; null where it is not the one that plays or was paused last. */
  time: (url) => (url === current && loaded.get(url) ? loaded.get(url).currentTime : null),
  error: (url) => failed.get(url) || "",
  /** Volume, speed and loop as the toolbar says. */
  adjust: () => loaded.forEach(adjust),
};
