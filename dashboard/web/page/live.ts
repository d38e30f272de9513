// New data: listens to the server's event stream and hands the revision to the page.

import { isReady, setProps } from "../core/dash.ts";

/** The server is heard once a second: who is silent for so long has stopped. */
const SILENCE_MS = 8000;
const LOOK_MS = 500;
const NO_ANSWER_MS = 10000;
const RETRY_MS = 2000;
/** A browser has six connections to a server for all its tabs: one that nobody looks at for so long gives its own back. */
const REST_MS = 3000;
const WORDS = { connecting: "connecting", live: "live", updating: "updating", paused: "paused", lost: "disconnected" };
const HINTS = {
  connecting: "Connecting to the server",
  live: "New data appears automatically. Click to pause.",
  updating: "Drawing new data",
  paused: "Live updates are paused. Click to resume.",
  lost: "No connection to the server; retrying. Is stepscope still running?",
};

let paused = false;
let connected = false;
/** Whether a connection was lost, or none came about. */
let hasFailed = false;
let latest: number | null = null;
let shown: number | null = null;
let heard = Date.now();
let settling = 0;
let isStarted = false;
/** Nobody looks at the page, and it does not listen. */
let isResting = false;
let falling = 0;
let source: EventSource | null = null;
/** The one whose revisions were heard of last. */
let server: string | null = null;
/** When the connection was lost, in milliseconds since 1970; null while there is one. */
let lostAt: number | null = null;
/** A server is there again, or it is another one: all is asked for once more, whatever revision it is at. */
let restarted = false;
/** How often that was so. */
let restarts = 0;
const listeners: ((lostAt: number | null) => void)[] = [];
let retrying = 0;
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
  const lost = !connected && (shown !== null || hasFailed);
  if (lost !== (lostAt !== null)) {
    lostAt = lost ? Date.now() : null;
    if (!lost) {
      restarted = true;
      clearTimeout(answering);
      answering = 0;
    }
    listeners.forEach((listener) => listener(lostAt));
  }
  show(!connected ? (lost ? "lost" : "connecting") : paused ? "paused" : settling ? "updating" : "live");
}

/** Hands the newest revision to the page, unless it is paused or nobody looks. */
function deliver() {
  if (document.hidden || latest === null || answering || !connected || !isReady()) return;
  // A server that has just begun has read nothing yet: what is on the page stays until it has.
  if (restarted ? latest === 0 : paused || latest === shown) return;
  const first = shown === null;
  // No revision of any server is negative: whoever hears of it takes it for news, and of the true one after it.
  shown = restarted ? -1 - latest : latest;
  if (restarted) restarts += 1;
  restarted = false;
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
  clearTimeout(retrying);
  source?.close();
  const stream = new EventSource("api/revision");
  source = stream;
  stream.onmessage = (event) => {
    connected = true;
    heard = Date.now();
    latest = Number(event.data);
    refreshState();
    deliver();
  };
  stream.addEventListener("server", ({ data }) => {
    restarted ||= server !== null && server !== data;
    server = data;
  });
  stream.addEventListener("heartbeat", () => {
    heard = Date.now();
  });
  stream.onerror = () => {
    connected = false;
    hasFailed = true;
    refreshState();
    stream.close();
    clearTimeout(retrying);
    retrying = window.setTimeout(connect, RETRY_MS);
  };
}

function rest() {
  isResting = true;
  clearTimeout(retrying);
  source?.close();
}

function looked() {
  clearTimeout(falling);
  if (!isStarted) return;
  if (document.hidden) {
    falling = window.setTimeout(rest, REST_MS);
  } else if (isResting) {
    isResting = false;
    heard = Date.now();
    connect();
  } else deliver();
}

export const live = {
  /** How often all was asked for once more: what is known of an earlier time may be of another server. */
  get restarts(): number {
    return restarts;
  },
  get isConnected(): boolean {
    return connected;
  },
  /** The frame shows what was asked for last: begins to listen, or goes on to what came meanwhile. */
  start() {
    if (isStarted) return answered();
    isStarted = true;
    // A tab that was opened behind others has time.
    if (document.hidden) isResting = true;
    else connect();
    let lastLook = Date.now();
    setInterval(() => {
      // While the page itself was busy or asleep, what the server said has waited.
      const late = Date.now() - lastLook - LOOK_MS;
      lastLook = Date.now();
      if (late > LOOK_MS) heard += late;
      if (isResting) return;
      if (Date.now() - heard > SILENCE_MS) {
        connected = false;
        // Also a server that has not said a word yet is silent.
        hasFailed = true;
        heard = Date.now();
        refreshState();
        connect();
      }
    }, LOOK_MS);
  },
  /** Calls back when the connection is lost, with the moment, and when there is one again, with null. */
  onConnection(listener: (lostAt: number | null) => void) {
    listeners.push(listener);
  },
  /** Tries again to reach the server, now. */
  retry: connect,
  togglePause() {
    paused = !paused;
    refreshState();
    deliver();
  },
};
document.addEventListener("visibilitychange", looked);
