/** Uploads a file to a route and reports its progress. */
import { fileSize } from "./numbers.ts";

export interface Upload<T> {
  /** The response; rejects with a sentence, which is empty if the upload was canceled. */
  done: Promise<T>;
  cancel: () => void;
}

/** The largest file that the server accepts, in bytes, as `LARGEST_UPLOAD` in server/dropped_files.py. */
export const LARGEST = 2 ** 30;

/** Sends a file unless it is too large; calls `tell` with the share of it that has been sent. */
export function upload<T>(address: string, file: File, tell: (share: number) => void): Upload<T> {
  if (file.size > LARGEST) {
    const why = `The file is ${fileSize(file.size)}; the limit for dropped files is ${fileSize(LARGEST)}. ` +
      "Open larger files with the stepscope command.";
    return { done: Promise.reject(new Error(why)), cancel: () => {} };
  }
  const request = new XMLHttpRequest();
  const done = new Promise<T>((resolve, reject) => {
    request.upload.onprogress = (event) => tell(event.lengthComputable ? event.loaded / event.total : 0);
    request.onload = () => {
      const answer = answerOf<T>(request.responseText);
      if (request.status < 300 && answer) return resolve(answer);
      const said = answer?.detail ?? `The server responded with status ${request.status}.`;
      reject(new Error(said));
    };
    request.onerror = () => reject(new Error(`The connection was lost while ${file.name} was being uploaded.`));
    request.onabort = () => reject(new Error(""));
  });
  request.open("POST", address);
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.send(file);
  return { done, cancel: () => request.abort() };
}

/** JSON with the result or an error detail; null if the text is not JSON. */
function answerOf<T>(text: string): (T & { detail?: string }) | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
