// New data: listens to the server's event stream and passes the revision to the page.

import { isReady, setProps } from "../core/dash.ts";

/** The server sends something once a second: one that is silent for this long has stopped. */
const SILENCE_MS = 8000;
const LOOK_MS = 500;
const NO_ANSWER_MS = 10000;
const RETRY_MS = 2000;
/** A browser has six connections to a server for all its tabs: a tab that is hidden for this long releases its own. */
const REST_MS = 3000;
const WORDS = { connecting: "connecting", live: "live", updating: "updating", paused: "paused", lost: "disconnected" };
const HINTS = {
  connecting: "Connecting to the server",
  live: "New data appears automatically. Click to pause.",
  updating: "Drawing new data",
  paused: "Live updates are paused. Click to resume.",
  lost: "No connection to the server; retrying. Is stepscope still running?",
};
const NEEDS_TOKEN = "This dashboard requires a token";

let paused = false;
let connected = false;
/** Whether a connection was lost or never established. */
let hasFailed = false;
let latest: number | null = null;
let shown: number | null = null;
let heard = Date.now();
let settling = 0;
let isStarted = false;
/** The page is hidden and does not listen. */
let isResting = false;
let falling = 0;
let source: EventSource | null = null;
/** The server that last sent revisions. */
let server: string | null = null;
/** When the connection was lost, in milliseconds since 1970; null while there is one. */
let lostAt: number | null = null;
/** A server is there, but does not know this page: it was started with another token. */
let needsToken = false;
/** A server is back, or it is a different one: everything is requested again, whatever its revision. */
let restarted = false;
/** How often that has happened. */
let restarts = 0;
const listeners: ((lostAt: number | null) => void)[] = [];
let retrying = 0;
/** The page is requesting the data of the last revision: a new one now would make it drop the response. */
let answering = 0;

type State = keyof typeof WORDS;

function show(state: State) {
  const button = document.getElementById("live");
  if (!button) return;
  button.title = needsToken ? NEEDS_TOKEN : HINTS[state];
  if (button.dataset.state === state) return;
  button.dataset.state = state;
  document.getElementById("live-text")!.textContent = WORDS[state];
}

function refreshState() {
  const lost = !connected && (shown !== null || hasFailed);
  if (connected) needsToken = false;
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

/** Passes the newest revision to the page, unless updates are paused or the page is hidden. */
function deliver() {
  if (document.hidden || latest === null || answering || !connected || !isReady()) return;
  // A server that has just started has read nothing yet: the page keeps its contents until it has.
  if (restarted ? latest === 0 : paused || latest === shown) return;
  const first = shown === null;
  // No server's revision is negative, so a listener treats this one as news, and the real one after it, too.
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

/** Asks for the status of a refused connection, which the event stream does not tell. */
async function learnStatus() {
  const { status } = await fetch("api/revision", { method: "HEAD" }).catch(() => ({ status: 0 }));
  const isStranger = status === 401;
  if (connected || isStranger === needsToken) return;
  needsToken = isStranger;
  refreshState();
  listeners.forEach((listener) => listener(lostAt));
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
  stream.addEventListener("title", ({ data }) => {
    document.title = JSON.parse(data);
  });
  stream.addEventListener("heartbeat", () => {
    heard = Date.now();
  });
  stream.onerror = () => {
    connected = false;
    hasFailed = true;
    refreshState();
    void learnStatus();
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
  /** How often everything was requested again: anything known from before may come from another server. */
  get restarts(): number {
    return restarts;
  },
  get isConnected(): boolean {
    return connected;
  },
  get needsToken(): boolean {
    return needsToken;
  },
  /** Called when the frame shows the last requested data: starts to listen, or moves on to what has arrived since. */
  start() {
    if (isStarted) return answered();
    isStarted = true;
    // A tab that was opened in the background can wait.
    if (document.hidden) isResting = true;
    else connect();
    let lastLook = Date.now();
    setInterval(() => {
      // While the page itself was busy or asleep, messages from the server had to wait.
      const late = Date.now() - lastLook - LOOK_MS;
      lastLook = Date.now();
      if (late > LOOK_MS) heard += late;
      if (isResting) return;
      if (Date.now() - heard > SILENCE_MS) {
        connected = false;
        // A server that has not sent anything yet counts as silent, too.
        hasFailed = true;
        heard = Date.now();
        refreshState();
        connect();
      }
    }, LOOK_MS);
  },
  /** Calls back with the time when the connection was lost, also when `needsToken` changes; null when it is restored. */
  onConnection(listener: (lostAt: number | null) => void) {
    listeners.push(listener);
  },
  /** Tries to reach the server again now. */
  retry: connect,
  togglePause() {
    paused = !paused;
    refreshState();
    deliver();
  },
};
document.addEventListener("visibilitychange", looked);
