/** Playback, one clip at a time; the previous clip stays loaded for switching back and forth. */
import { view } from "../../../web/page/view.ts";
import { settings } from "./settings.generated.ts";

const MOST_LOADED = 3;
const UNPLAYABLE = "The browser cannot play this clip. Download it to hear it.";

/** Loaded clips by URL, the most recently used one last. */
const loaded: Map<string, HTMLAudioElement> = new Map();
/** Why a clip cannot be played, by URL. */
const failed: Map<string, string> = new Map();
/** The clip that is playing or was last paused. */
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
      // The element stays broken, so the next attempt loads the clip again.
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

/** Plays a clip, from `at` seconds if given; stops anything else that is playing. */
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
    // A pause before playback began is not a failure.
    if (!(error instanceof DOMException && error.name === "AbortError")) failed.set(url, UNPLAYABLE);
  }
  follow();
}

const pause = (): void => loaded.get(current)?.pause();

const playing = (url: string): boolean => url === current && loaded.get(url)?.paused === false;

/** Seeks to a position in a clip; playback continues if it was playing. */
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
  /** Continues with another clip at the current position. */
  swap(url: string): void {
    const element = loaded.get(current);
    const at = element?.currentTime ?? 0;
    if (element && !element.paused) void play(url, at);
    else seek(url, at);
  },
  /** Position in a clip in seconds; null unless it is the one that is playing or was last paused. */
  time: (url: string): number | null => (url === current ? loaded.get(url)?.currentTime ?? null : null),
  error: (url: string): string => failed.get(url) ?? "",
  /** Applies the toolbar's volume, speed and loop settings. */
  adjust: (): void => loaded.forEach(adjust),
  /** Calls back whenever playback starts, stops or moves. */
  onMove: (listener: () => void): void => void listeners.push(listener),
};
