// New data: listens to the server's event stream and hands the revision to the page.

import { isReady, setProps } from "../core/dash.ts";

const SILENCE_MS = 15000;
const NO_ANSWER_MS = 10000;
const WORDS = { connecting: "connecting", live: "live", updating: "updating", paused: "paused", lost: "lost" };
const HINTS = {
  connecting: "Connecting to the server",
  live: "New data appears by itself. Click to pause.",
  updating: "New data is being drawn",
  paused: "Paused: the page stays as it is. Click to go on.",
  lost: "No connection to the server; trying again. Is stepscope still running?",
};

let paused = false;
let connected = false;
let latest: number | null = null;
let shown: number | null = null;
let heard = Date.now();
let settling = 0;
let source: EventSource | null = null;
/** The page asks for what the last revision brought: another one now would make it drop the answer. */
let answering = 0;

type State = keyof typeof WORDS;

function show(state: State) {
  const button = document.getElementById("live");
  if (!button || button.dataset.state === state) return;
  button.dataset.state = state;
  button.title = HINTS[state];
  document.getElementById("live-text")!.textContent = WORDS[state];
}

function refreshState() {
  show(!connected ? (shown === null ? "connecting" : "lost") : paused ? "paused" : settling ? "updating" : "live");
}

/** Hands the newest revision to the page, unless it is paused or nobody looks. */
function deliver() {
  if (
    paused || document.hidden || latest === null || latest === shown || answering || !isReady()
  ) return;
  const first = shown === null;
  shown = latest;
  answering = window.setTimeout(answered, NO_ANSWER_MS);
  setProps("revision", { data: shown });
  if (!first) {
    clearTimeout(settling);
    settling = window.setTimeout(() => {
      settling = 0;
      refreshState();
    }, 600);
  }
  refreshState();
}

function answered() {
  clearTimeout(answering);
  answering = 0;
  deliver();
}

function connect() {
  if (source) source.close();
  const stream = new EventSource("/api/revision");
  source = stream;
  stream.onopen = () => {
    connected = true;
    heard = Date.now();
    refreshState();
  };
  stream.onmessage = (event) => {
    connected = true;
    heard = Date.now();
    latest = Number(event.data);
    deliver();
    refreshState();
  };
  stream.addEventListener("heartbeat", () => {
    heard = Date.now();
  });
  stream.onerror = () => {
    connected = false;
    refreshState();
    if (stream.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
  };
}

export const live = {
  /** The frame shows what was asked for last: begins to listen, or goes on to what came meanwhile. */
  start() {
    if (source) return answered();
    connect();
    setInterval(() => {
      if (Date.now() - heard > SILENCE_MS) {
        connected = false;
        heard = Date.now();
        refreshState();
        connect();
      }
    }, 2000);
  },
  togglePause() {
    paused = !paused;
    refreshState();
    deliver();
  },
};
document.addEventListener("visibilitychange", deliver);
