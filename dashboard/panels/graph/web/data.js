/** What the Graph panel asks the server for, and how numbers are written in it. */

/** @typedef {Record<string, string | number | string[] | null | undefined>} Parameters lists are repeated, nothing is left out */

export class Api {
  /** @param {string} base address of the routes, such as "api/graph" */
  constructor(base) {
    this.base = base;
    this.requests = 0;
    /** Requests on their way. */
    this.pending = 0;
  }

  /** @param {string} route @param {Parameters} parameters */
  address(route, parameters) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) {
      for (const one of Array.isArray(value) ? value : [value]) if (one !== null && one !== undefined && one !== "") query.append(name, String(one));
    }
    return `${this.base}/${route}?${query}`;
  }

  /**
   * The answer of a route; what the server says is wrong is thrown as an Error with that sentence.
   * @param {string} route @param {Parameters} parameters @param {AbortSignal} [signal]
   */
  async get(route, parameters, signal) {
    this.requests += 1;
    this.pending += 1;
    try {
      const response = await fetch(this.address(route, parameters), { signal });
      if (response.ok) return await response.json();
      throw new Error(await reason(response));
    } catch (error) {
      if (error instanceof TypeError) throw new Error("The server does not answer. Is it still running?");
      throw error;
    } finally {
      this.pending -= 1;
    }
  }
}

/** @param {Response} response */
async function reason(response) {
  try {
    const { detail } = await response.json();
    if (typeof detail === "string") return detail;
  } catch {
    // Not of our making; its status has to do.
  }
  return `The server answered with status ${response.status}.`;
}

const scaled = (/** @type {number} */ value, /** @type {number} */ base, /** @type {string[]} */ units) => {
  let at = 0;
  let rest = Math.abs(value);
  while (rest >= base * 0.9995 && at < units.length - 1) {
    rest /= base;
    at += 1;
  }
  const digits = at === 0 || rest >= 99.95 ? 0 : rest >= 9.995 ? 1 : 2;
  return `${value < 0 ? "−" : ""}${rest.toFixed(digits)}${units[at] ? ` ${units[at]}` : ""}`;
};

export const format = {
  integer: (/** @type {number} */ value) => Math.round(value).toLocaleString("en-US"),
  /** 1 234 567 as "1.23 M". */
  amount: (/** @type {number} */ value) => scaled(value, 1000, ["", "k", "M", "G", "T", "P"]),
  bytes: (/** @type {number} */ value) => scaled(value, 1000, ["B", "kB", "MB", "GB", "TB"]),
  flops: (/** @type {number} */ value) => `${scaled(value, 1000, ["", "k", "M", "G", "T", "P"])}FLOP`.replace(/^(\S+)FLOP$/, "$1 FLOP"),
  duration: (/** @type {number} */ ns) => (ns < 1000 ? `${Math.round(ns)} ns` : scaled(ns / 1000, 1000, ["µs", "ms", "s"])),
  /** "1 node", "2 nodes". */
  counted: (/** @type {number} */ count, /** @type {string} */ noun) => `${Math.round(count).toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`,
  /** A name without the scopes before it. */
  last: (/** @type {string} */ id) => id.slice(id.lastIndexOf("/") + 1) || id,
};
