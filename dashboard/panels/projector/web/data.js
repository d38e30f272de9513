/** What the Projector panel asks the server for, and what it keeps of an open embedding. */
import { binary } from "../../../web/core/binary.js";

const MOST_TEXTS = 2000;
const MOST_KEPT = 100_000;

/** @typedef {Record<string, string | number | boolean | null | undefined>} Parameters what is null or empty is left out */
/** @typedef {{name: string, kind: "text" | "number", categories: number | null, minimum: number | null, maximum: number | null, missing: number}} ColumnInfo */

export class Api {
  /** @param {string} base such as "api/projector" */
  constructor(base) {
    this.base = base;
    this.requests = 0;
    /** Requests on their way, but for those that wait for a frame. */
    this.pending = 0;
  }

  /** @param {string} route @param {Parameters} parameters */
  address(route, parameters) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) if (value !== null && value !== undefined && value !== "") query.append(name, String(value));
    return `${this.base}/${route}?${query}`;
  }

  /**
   * JSON, or the header of packed columns with its `arrays`; what is wrong is thrown as an Error with a sentence.
   * @param {string} route @param {Parameters} parameters @param {{signal?: AbortSignal, body?: any, quiet?: boolean}} [how] with a body it is posted; `quiet` requests count as none
   */
  async ask(route, parameters, { signal, body, quiet = false } = {}) {
    this.requests += 1;
    this.pending += quiet ? 0 : 1;
    try {
      const response = await fetch(this.address(route, parameters), body === undefined ? { signal } : { signal, method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
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

  /**
   * Sends a file; tells how much of it is there.
   * @param {string} route @param {Parameters} parameters @param {File} file @param {(share: number) => void} tell
   * @returns {{done: Promise<any>, cancel: () => void}}
   */
  upload(route, parameters, file, tell) {
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
        else reject(new Error(typeof answer?.detail === "string" ? answer.detail : `The server answered with status ${request.status}.`));
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

/** Row numbers as base64 of uint32. @param {Uint32Array} rows */
function base64(rows) {
  const bytes = new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength);
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

/** An open embedding at one step: what is said of it, and columns as they are needed. */
export class Dataset {
  /** @param {Api} api @param {any} info answer of the route "dataset" */
  constructor(api, info) {
    this.api = api;
    this.info = info;
    this.id = /** @type {string} */ (info.id);
    this.step = /** @type {number | null} */ (info.step ?? null);
    this.count = /** @type {number} */ (info.count);
    /** @type {Map<string, Promise<any>>} */
    this.columns = new Map();
    /** @type {Map<string, Map<number, string>>} */
    this.known = new Map();
    /** Keys of row sets that the server has, by their content. @type {Map<string, string>} */
    this.keys = new Map();
  }

  /** Numbers in the file of all rows; null where none was left out, so that they are the rows themselves. @returns {Uint32Array | null} */
  get fileRows() {
    const left = this.info.left_out;
    if (!left?.length) return null;
    if (!this.inFile) {
      const gone = new Set(left);
      this.inFile = new Uint32Array(this.count);
      for (let row = 0, number = 0; row < this.count; number += 1) if (!gone.has(number)) this.inFile[row++] = number;
    }
    return this.inFile;
  }

  /** Where a row's picture is in the sprite. @param {number} row */
  fileRow(row) {
    return this.fileRows ? this.fileRows[row] : row;
  }

  get at() {
    return { id: this.id, step: this.step };
  }

  /** @returns {ColumnInfo[]} */
  get columnInfos() {
    return this.info.columns;
  }

  /** @param {string} name @returns {ColumnInfo | undefined} */
  infoOf(name) {
    return this.columnInfos.find((column) => column.name === name);
  }

  /** A column of all points. @param {string} name @returns {Promise<{name: string, kind: string, categories: string[] | null, values: any}>} */
  column(name) {
    let found = this.columns.get(name);
    if (!found) {
      found = this.api.ask("column", { ...this.at, name }).then((pack) => ({ name, kind: pack.kind, categories: pack.categories ?? null, values: pack.arrays[0] ?? null }));
      this.columns.set(name, found);
      found.catch(() => this.columns.delete(name));
    }
    return found;
  }

  /** Texts of a column for some rows. @param {string} name @param {ArrayLike<number>} rows @returns {Promise<string[]>} */
  async texts(name, rows) {
    let known = this.known.get(name);
    if (!known) this.known.set(name, (known = new Map()));
    if (known.size > MOST_KEPT) known.clear();
    const missing = Array.from(rows).filter((row) => !known.has(row));
    for (let at = 0; at < missing.length; at += MOST_TEXTS) {
      const part = missing.slice(at, at + MOST_TEXTS);
      const { texts } = await this.api.ask("labels", {}, { body: { ...this.at, name, rows: part } });
      part.forEach((row, place) => known.set(row, texts[place] ?? ""));
    }
    return Array.from(rows, (row) => known.get(row) ?? "");
  }

  /** The text of one row where it is known already. @param {string} name @param {number} row */
  knownText(name, row) {
    return this.known.get(name)?.get(row);
  }

  /** The server's key of a set of rows. @param {Uint32Array} rows */
  async keyOf(rows) {
    const packed = base64(rows);
    let key = this.keys.get(packed);
    if (!key) {
      ({ key } = await this.api.ask("rows", {}, { body: { ...this.at, rows: packed } }));
      if (this.keys.size > 20) this.keys.clear();
      this.keys.set(packed, /** @type {string} */ (key));
    }
    return /** @type {string} */ (key);
  }
}
