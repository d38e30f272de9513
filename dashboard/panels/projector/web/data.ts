// @ts-nocheck
/** What the Projector panel asks the server for, and what it keeps of an open embedding. */
import { binary } from "../../../web/core/binary.ts";

const MOST_TEXTS = 2000;
const MOST_KEPT = 100_000;

/** what is null or empty is left out */
export type Parameters = Record<string, string | number | boolean | null | undefined>;
export interface ColumnInfo {
  name: string;
  kind: "text" | "number";
  categories: number | null;
  minimum: number | null;
  maximum: number | null;
  missing: number;
}

export class Api {
  base;
  requests = 0;
  /** Requests on their way, but for those that wait for a frame. */
  pending = 0;

  /** @param base such as "api/projector" */
  constructor(base: string) {
    this.base = base;
  }

  address(route: string, parameters: Parameters) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) {
      if (value !== null && value !== undefined && value !== "") query.append(name, String(value));
    }
    return `${this.base}/${route}?${query}`;
  }

  /**
   * JSON, or the header of packed columns with its `arrays`; what is wrong is thrown as an Error with a sentence.
   * @param how with a body it is posted; `quiet` requests count as none
   */
  async ask(
    route: string,
    parameters: Parameters,
    { signal, body, quiet = false }: { signal?: AbortSignal; body?: any; quiet?: boolean } = {},
  ) {
    this.requests += 1;
    this.pending += quiet ? 0 : 1;
    try {
      const response = await fetch(
        this.address(route, parameters),
        body === undefined
          ? { signal }
          : { signal, method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) },
      );
      if (!response.ok) throw new Error(await reason(response));
      const json = (response.headers.get("Content-Type") ?? "").includes("json");
      return json ? await response.json() : binary.unpack(await response.arrayBuffer());
    } catch (error) {
      if (error instanceof TypeError) throw new Error("The server does not answer. Is it still running?");
      throw error;
    } finally {
      this.pending -= quiet ? 0 : 1;
    }
  }

  /** Sends a file; tells how much of it is there. */
  upload(
    route: string,
    parameters: Parameters,
    file: File,
    tell: (share: number) => void,
  ): { done: Promise<any>; cancel: () => void } {
    const request = new XMLHttpRequest();
    const done = new Promise((resolve, reject) => {
      request.upload.onprogress = (event) => tell(event.lengthComputable ? event.loaded / event.total : 0);
      request.onload = () => {
        let answer = null;
        try {
          answer = JSON.parse(request.responseText);
        } catch {
          // Not of our making; its status has to do.
        }
        if (request.status < 300 && answer) resolve(answer);
        else {reject(
            new Error(
              typeof answer?.detail === "string" ? answer.detail : `The server answered with status ${request.status}.`,
            ),
          );}
      };
      request.onerror = () => reject(new Error(`The server broke off while ${file.name} was sent.`));
      request.onabort = () => reject(new Error(""));
    });
    request.open("POST", this.address(route, parameters));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.send(file);
    return { done, cancel: () => request.abort() };
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

/** Row numbers as base64 of uint32. */
function base64(rows: Uint32Array) {
  const bytes = new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength);
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

/** An open embedding at one step: what is said of it, and columns as they are needed. */
export class Dataset {
  api;
  info;
  id: string;
  step: number | null;
  count: number;
  columns: Map<string, Promise<any>> = new Map();
  known: Map<string, Map<number, string>> = new Map();
  /** Keys of row sets that the server has, by their content. */
  keys: Map<string, string> = new Map();
  inFile: any;

  /** @param info answer of the route "dataset" */
  constructor(api: Api, info: any) {
    this.api = api;
    this.info = info;
    this.id = info.id as string;
    this.step = (info.step ?? null) as number | null;
    this.count = info.count as number;
  }

  /** Numbers in the file of all rows; null where none was left out, so that they are the rows themselves. */
  get fileRows(): Uint32Array | null {
    const left = this.info.left_out;
    if (!left?.length) return null;
    if (!this.inFile) {
      const gone = new Set(left);
      this.inFile = new Uint32Array(this.count);
      for (let row = 0, number = 0; row < this.count; number += 1) if (!gone.has(number)) this.inFile[row++] = number;
    }
    return this.inFile;
  }

  /** Where a row's picture is in the sprite. */
  fileRow(row: number) {
    return this.fileRows ? this.fileRows[row] : row;
  }

  get at() {
    return { id: this.id, step: this.step };
  }

  get columnInfos(): ColumnInfo[] {
    return this.info.columns;
  }

  infoOf(name: string): ColumnInfo | undefined {
    return this.columnInfos.find((column) => column.name === name);
  }

  /** A column of all points. */
  column(name: string): Promise<{ name: string; kind: string; categories: string[] | null; values: any }> {
    let found = this.columns.get(name);
    if (!found) {
      found = this.api.ask("column", { ...this.at, name }).then((pack) => ({
        name,
        kind: pack.kind,
        categories: pack.categories ?? null,
        values: pack.arrays[0] ?? null,
      }));
      this.columns.set(name, found);
      found.catch(() => this.columns.delete(name));
    }
    return found;
  }

  /** Texts of a column for some rows. */
  async texts(name: string, rows: ArrayLike<number>): Promise<string[]> {
    let known = this.known.get(name);
    if (!known) this.known.set(name, known = new Map());
    if (known.size > MOST_KEPT) known.clear();
    const missing = Array.from(rows).filter((row) => !known.has(row));
    for (let at = 0; at < missing.length; at += MOST_TEXTS) {
      const part = missing.slice(at, at + MOST_TEXTS);
      const { texts } = await this.api.ask("labels", {}, { body: { ...this.at, name, rows: part } });
      part.forEach((row, place) => known.set(row, texts[place] ?? ""));
    }
    return Array.from(rows, (row) => known.get(row) ?? "");
  }

  /** The text of one row where it is known already. */
  knownText(name: string, row: number) {
    return this.known.get(name)?.get(row);
  }

  /** The server's key of a set of rows. */
  async keyOf(rows: Uint32Array) {
    const packed = base64(rows);
    let key = this.keys.get(packed);
    if (!key) {
      ({ key } = await this.api.ask("rows", {}, { body: { ...this.at, rows: packed } }));
      if (this.keys.size > 20) this.keys.clear();
      this.keys.set(packed, key as string);
    }
    return (key as string);
  }
}
