/** What plays. One clip at a time; the one that played before stays loaded, to go back and forth. */
import { view } from "../../../web/page/view.ts";
import { settings } from "./settings.generated.ts";

const MOST_LOADED = 3;
const UNPLAYABLE = "The browser cannot play this clip. Download it to hear it.";

/** Loaded clips by URL, the one used last at the end. */
const loaded: Map<string, HTMLAudioElement> = new Map();
/** Why a clip does not play, by URL. */
const failed: Map<string, string> = new Map();
/** The clip that plays, or was paused last. */
let current = "";
let ticking = 0;
const listeners: (() => void)[] = [];

function tick(): void {
  ticking = 0;
  for (const listener of listeners) listener();
  const element = loaded.get(current);
  if (element && !element.paused) follow();
}

function follow(): void {
  if (!ticking) ticking = requestAnimationFrame(tick);
}

function adjust(element: HTMLAudioElement): void {
  element.volume = view.read(settings.volume);
  element.playbackRate = Number(view.read(settings.speed));
  element.loop = view.read(settings.loop);
}

function create(url: string): HTMLAudioElement {
  const element = new Audio();
  element.preload = "auto";
  element.src = url;
  for (const event of ["play", "pause", "ended", "seeked", "loadedmetadata"]) element.addEventListener(event, follow);
  element.addEventListener("error", () => {
    if (element.error) {
      failed.set(url, UNPLAYABLE);
      // It stays broken: the next try loads the clip again.
      if (loaded.get(url) === element) loaded.delete(url);
    }
    follow();
  });
  return element;
}

function load(url: string): HTMLAudioElement {
  const element = loaded.get(url) ?? create(url);
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
async function play(url: string, at?: number): Promise<void> {
  if (current !== url) pause();
  current = url;
  failed.delete(url);
  const element = load(url);
  adjust(element);
  if (at !== undefined) element.currentTime = at;
  try {
    await element.play();
  } catch (error) {
    // A pause that came first is no failure.
    if (!(error instanceof DOMException && error.name === "AbortError")) failed.set(url, UNPLAYABLE);
  }
  follow();
}

const pause = (): void => loaded.get(current)?.pause();

const playing = (url: string): boolean => url === current && loaded.get(url)?.paused === false;

/** Goes to a place of a clip; it plays on if it plays. */
function seek(url: string, seconds: number): void {
  if (failed.has(url)) return follow();
  const element = load(url);
  adjust(element);
  if (!playing(url)) {
    pause();
    current = url;
  }
  element.currentTime = Math.max(0, seconds);
  follow();
}

export const player = {
  pause,
  playing,
  seek,
  toggle: (url: string): void => (playing(url) ? pause() : void play(url)),
  /** Goes on with another clip at the place where this one is. */
  swap(url: string): void {
    const element = loaded.get(current);
    const at = element?.currentTime ?? 0;
    if (element && !element.paused) void play(url, at);
    else seek(url, at);
  },
  /** Seconds into a clip; null where it is not the one that plays or was paused last. */
  time: (url: string): number | null => (url === current ? loaded.get(url)?.currentTime ?? null : null),
  error: (url: string): string => failed.get(url) ?? "",
  /** Volume, speed and loop as the toolbar says. */
  adjust: (): void => loaded.forEach(adjust),
  /** Calls back whenever something begins, ends or moves. */
  onMove: (listener: () => void): void => void listeners.push(listener),
};
