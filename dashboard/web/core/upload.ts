/** A file that is sent to a route, with word of how much of it is there. */

export interface Upload<T> {
  /** The answer; fails with a sentence, which is empty where it was canceled. */
  done: Promise<T>;
  cancel: () => void;
}

/** Sends a file; tells how much of it is there. */
export function upload<T>(address: string, file: File, tell: (share: number) => void): Upload<T> {
  const request = new XMLHttpRequest();
  const done = new Promise<T>((resolve, reject) => {
    request.upload.onprogress = (event) => tell(event.lengthComputable ? event.loaded / event.total : 0);
    request.onload = () => {
      const answer = answerOf<T>(request.responseText);
      if (request.status < 300 && answer) return resolve(answer);
      const said = answer?.detail ?? `The server responded with status ${request.status}.`;
      reject(new Error(said));
    };
    request.onerror = () => reject(new Error(`The connection was lost while ${file.name} was sent.`));
    request.onabort = () => reject(new Error(""));
  });
  request.open("POST", address);
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.send(file);
  return { done, cancel: () => request.abort() };
}

/** JSON with what came, or with what is wrong; null where it is not of our making. */
function answerOf<T>(text: string): (T & { detail?: string }) | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
