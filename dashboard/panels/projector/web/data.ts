/** The Projector panel's requests to the server, and the data it keeps of an open embedding. */
import * as request from "../../../web/core/request.ts";
import type { Parameters } from "../../../web/core/request.ts";
import { type Upload as Sending, upload } from "../../../web/core/upload.ts";
import type { ColumnHeader, ColumnInfo, DatasetInfo, Dropped, LabelsAnswer, RowsKept } from "./messages.generated.ts";

const MOST_TEXTS = 2000;
const MOST_KEPT = 100_000;

export interface NumberColumn {
  name: string;
  kind: "number";
  categories: null;
  values: Float32Array | Float64Array | null;
}
/** Has no categories if there are too many different texts. */
export interface TextColumn {
  name: string;
  kind: "text";
  categories: string[] | null;
  /** the category of each point, -1 for none */
  values: Int32Array | null;
}
export type Column = NumberColumn | TextColumn;

/** The embedding that a request is about. */
export interface At {
  id: string;
  step: number | null;
}

export type Upload = Sending<Dropped>;

export class Api extends request.Api {
  /** Sends a file and reports how much of it has been sent. */
  upload(route: string, parameters: Parameters, file: File, tell: (share: number) => void): Upload {
    return upload(this.address(route, parameters), file, tell);
  }
}

/** Encodes row numbers as base64 of uint32. */
function base64(rows: Uint32Array) {
  const bytes = new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength);
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

type ColumnPack = ColumnHeader & { arrays: Column["values"][] };

/** An open embedding at one step: its description, and its columns as they are needed. */
export class Dataset {
  readonly api: Api;
  info: DatasetInfo;
  readonly id: string;
  readonly step: number | null;
  readonly count: number;
  columns: Map<string, Promise<Column>> = new Map();
  known: Map<string, Map<number, string>> = new Map();
  /** Keys of the row sets that the server has, by content. */
  keys: Map<string, string> = new Map();
  inFile: Uint32Array | null = null;

  constructor(api: Api, info: DatasetInfo) {
    this.api = api;
    this.info = info;
    this.id = info.id;
    this.step = info.step;
    this.count = info.count;
  }

  /** File row numbers of all rows; null if no row was left out, so that they equal the rows themselves. */
  get fileRows(): Uint32Array | null {
    const left = this.info.left_out;
    if (!left.length) return null;
    if (!this.inFile) {
      const gone = new Set(left);
      this.inFile = new Uint32Array(this.count);
      for (let row = 0, number = 0; row < this.count; number += 1) if (!gone.has(number)) this.inFile[row++] = number;
    }
    return this.inFile;
  }

  /** The place of a row's picture in the sprite. */
  fileRow(row: number): number {
    return this.fileRows ? this.fileRows[row] : row;
  }

  get at(): At & Parameters {
    return { id: this.id, step: this.step };
  }

  get columnInfos(): ColumnInfo[] {
    return this.info.columns;
  }

  infoOf(name: string): ColumnInfo | undefined {
    return this.columnInfos.find((column) => column.name === name);
  }

  /** Returns a column of all points. */
  column(name: string): Promise<Column> {
    let found = this.columns.get(name);
    if (!found) {
      found = this.api.ask<ColumnPack>("column", { ...this.at, name }).then(({ arrays, ...column }) => ({
        ...column,
        values: arrays[0] ?? null,
      } as Column));
      this.columns.set(name, found);
      found.catch(() => this.columns.delete(name));
    }
    return found;
  }

  /** Returns the texts of a column for some rows. */
  async texts(name: string, rows: ArrayLike<number>): Promise<string[]> {
    let known = this.known.get(name);
    if (!known) this.known.set(name, known = new Map());
    if (known.size > MOST_KEPT) known.clear();
    const missing = Array.from(rows).filter((row) => !known.has(row));
    for (let at = 0; at < missing.length; at += MOST_TEXTS) {
      const part = missing.slice(at, at + MOST_TEXTS);
      const { texts } = await this.api.ask<LabelsAnswer>("labels", {}, {
        body: { ...this.at, name, rows: part },
      });
      part.forEach((row, place) => known.set(row, texts[place] ?? ""));
    }
    return Array.from(rows, (row) => known.get(row) ?? "");
  }

  /** Returns the server's key for a set of rows. */
  async keyOf(rows: Uint32Array): Promise<string> {
    const packed = base64(rows);
    const known = this.keys.get(packed);
    if (known) return known;
    const { key } = await this.api.ask<RowsKept>("rows", {}, { body: { ...this.at, rows: packed } });
    if (this.keys.size > 20) this.keys.clear();
    this.keys.set(packed, key);
    return key;
  }
}
