/** What the Graph panel asks the server for, and how numbers are written in it. */

/** lists are repeated, nothing is left out */
export type Parameters = Record<string, string | number | string[] | null | undefined>;

export class Api {
  base;
  requests = 0;
  /** Requests on their way. */
  pending = 0;

  /** @param base address of the routes, such as "api/graph" */
  constructor(base: string) {
    this.base = base;
  }

  address(route: string, parameters: Parameters) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one !== null && one !== undefined && one !== "") query.append(name, String(one));
      }
    }
    return `${this.base}/${route}?${query}`;
  }

  /** The answer of a route; what the server says is wrong is thrown as an Error with that sentence. */
  async get(route: string, parameters: Parameters, signal?: AbortSignal) {
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

async function reason(response: Response) {
  try {
    const { detail } = await response.json();
    if (typeof detail === "string") return detail;
  } catch {
    // Not of our making; its status has to do.
  }
  return `The server answered with status ${response.status}.`;
}

const scaled = (value: number, base: number, units: string[]) => {
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
  integer: (value: number) => Math.round(value).toLocaleString("en-US"),
  /** 1 234 567 as "1.23 M". */
  amount: (value: number) => scaled(value, 1000, ["", "k", "M", "G", "T", "P"]),
  bytes: (value: number) => scaled(value, 1000, ["B", "kB", "MB", "GB", "TB"]),
  flops: (value: number) =>
    `${scaled(value, 1000, ["", "k", "M", "G", "T", "P"])}FLOP`.replace(/^(\S+)FLOP$/, "$1 FLOP"),
  duration: (ns: number) => (ns < 1000 ? `${Math.round(ns)} ns` : scaled(ns / 1000, 1000, ["µs", "ms", "s"])),
  /** "1 node", "2 nodes". */
  counted: (count: number, noun: string) =>
    `${Math.round(count).toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`,
  /** A name without the scopes before it. */
  last: (id: string) => id.slice(id.lastIndexOf("/") + 1) || id,
};
