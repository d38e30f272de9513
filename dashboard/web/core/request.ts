/** Requests to the server's routes, counted, with errors that are sentences. */
import { binary } from "./binary.ts";

type Value = string | number | boolean | null | undefined;

/** Query parameters: lists are repeated, and null or empty values are omitted. */
export type Parameters = Record<string, Value | readonly Value[]>;

export interface How {
  signal?: AbortSignal;
  /** Sent as JSON in a POST request. */
  body?: unknown;
  /** Does not count as pending. */
  quiet?: boolean;
}

/** The requested resource does not exist, but may appear later. */
export class MissingError extends Error {}

export class Api {
  /** The number of requests made so far. */
  requests = 0;
  /** The number of requests in progress. */
  pending = 0;
  #base: string;

  /** @param base base of the addresses, such as "api/projector": relative to the page, which may be under any path */
  constructor(base: string) {
    this.#base = base;
  }

  address(route: string, parameters: Parameters): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one !== null && one !== undefined && one !== "") query.append(name, String(one));
      }
    }
    return `${this.#base}/${route}?${query}`;
  }

  /**
   * The response of a route: JSON, or the header of packed columns with its `arrays`.
   * @throws Error with a sentence for the user
   */
  async ask<T>(route: string, parameters: Parameters, how: How = {}): Promise<T> {
    const response = await this.response(route, parameters, how);
    const json = (response.headers.get("Content-Type") ?? "").includes("json");
    return json ? await response.json() : binary.unpack(await response.arrayBuffer());
  }

  /** Like `ask`, but returns the response unread. */
  async response(route: string, parameters: Parameters, { signal, body, quiet = false }: How = {}): Promise<Response> {
    this.requests += 1;
    this.pending += quiet ? 0 : 1;
    try {
      const posted = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
      const response = await fetch(this.address(route, parameters), {
        signal,
        ...(body === undefined ? {} : posted),
      });
      if (!response.ok) throw new (response.status === 404 ? MissingError : Error)(await reasonOf(response));
      return response;
    } catch (error) {
      if (error instanceof TypeError) throw new Error("The server does not respond. Is it still running?");
      throw error;
    } finally {
      this.pending -= quiet ? 0 : 1;
    }
  }
}

/** The server's explanation of an error. */
export async function reasonOf(response: Response): Promise<string> {
  try {
    const { detail } = await response.json();
    if (typeof detail === "string") return detail;
  } catch {
    // The body is not in the server's format; its status has to do.
  }
  return `The server responded with status ${response.status}.`;
}

/** The message of anything thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Whether the request was aborted because its response is no longer wanted. */
export const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";
