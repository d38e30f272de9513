// Small parts of the page that panels build in the browser, and how numbers and times are written there.

/** An element: `make("div", {className: "x"}, child, "text")`. */
function make(tag, props, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const icon = (name, size) => {
  const span = make("span", { className: "icon", "aria-hidden": "true" });
  span.style.setProperty("--icon", `var(--icon-${name})`);
  span.style.setProperty("--size", (size || 14) + "px");
  return span;
};

/** A run's name with its colour. */
function runLabel(run) {
  const dot = make("i", { className: "run-dot" });
  dot.style.setProperty("--light", run.light);
  dot.style.setProperty("--dark", run.dark);
  return make("span", { className: "run-label", title: run.run }, dot, make("bdi", {}, run.run === "." ? ". (the log directory)" : run.run));
}

const ARRAYS = { i1: Int8Array, i2: Int16Array, i4: Int32Array, u1: Uint8Array, f4: Float32Array, f8: Float64Array };
const decoded = new WeakMap();

/** The numbers of a base64 typed array (dashboard/arrays.py), decoded once. */
function numbers(spec) {
  let array = decoded.get(spec);
  if (!array) {
    const bytes = Uint8Array.from(atob(spec.bdata), (c) => c.charCodeAt(0));
    array = new ARRAYS[spec.dtype](bytes.buffer);
    decoded.set(spec, array);
  }
  return array;
}

function when(seconds) {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return "no time";
  const day = date.toLocaleDateString("en-CA");
  const time = date.toLocaleTimeString("en-GB");
  return day === new Date().toLocaleDateString("en-CA") ? time : `${day} ${time}`;
}

/** Browsers give the clipboard only to pages of localhost or HTTPS; elsewhere the old way still works. */
async function toClipboard(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = make("textarea", { value: text });
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

export const storage = {
  /** What the browser remembers under a key; null where it has nothing, or refuses, as it may in a frame. */
  get(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  set(key, value) {
    try {
      localStorage.setItem(key, value);
    } catch {
      // It is forgotten with the page.
    }
  },
};

export const elements = { make, icon, runLabel, numbers, when, toClipboard, step: (value) => Number(value).toLocaleString("en-US") };
