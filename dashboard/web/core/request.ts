/** Requests to the routes of the server, counted, with errors that are sentences. */
import { binary } from "./binary.ts";

type Value = string | number | boolean | null | undefined;

/** What an address is told: lists are repeated, and what is null or empty is left out. */
export type Parameters = Record<string, Value | readonly Value[]>;

export interface How {
  signal?: AbortSignal;
  /** Posted as JSON. */
  body?: unknown;
  /** Not among those that are pending. */
  quiet?: boolean;
}

/** What was asked for is not there, and may come. */
export class MissingError extends Error {}

export class Api {
  /** How many were made. */
  requests = 0;
  /** How many are on their way. */
  pending = 0;
  #base: string;

  /** @param base of the addresses, such as "api/projector": relative to the page, which may be under any path */
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
   * The answer of a route: JSON, or the header of packed columns with its `arrays`.
   * @throws Error with a sentence for the user
   */
  async ask<T>(route: string, parameters: Parameters, how: How = {}): Promise<T> {
    const response = await this.response(route, parameters, how);
    const json = (response.headers.get("Content-Type") ?? "").includes("json");
    return json ? await response.json() : binary.unpack(await response.arrayBuffer());
  }

  /** As `ask`, before it is read. */
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

/** What the server says is wrong. */
export async function reasonOf(response: Response): Promise<string> {
  try {
    const { detail } = await response.json();
    if (typeof detail === "string") return detail;
  } catch {
    // Not of our making; its status has to do.
  }
  return `The server responded with status ${response.status}.`;
}

/** What is thrown, as a sentence. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Whether somebody ended the request because its answer is not wanted any more. */
export const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";
