/** Files dropped on the Projector panel: vectors open as an embedding; metadata joins the open one. */
import { fileSize } from "../../../web/core/numbers.ts";
import { button } from "./widgets.ts";
import { make } from "../../../web/core/dom.ts";
import { messageOf } from "../../../web/core/request.ts";
import type { Api, Dataset, Upload } from "./data.ts";

const KINDS =
  ".npy,.npz,.safetensors,.pt,.pth,.bin,.h5,.keras,.tsv,.csv,.txt,.jsonl,.parquet,.arrow,.feather,.index,.ckpt,.png,.jpg,.jpeg";

type Route = "drop" | "drop_metadata" | "drop_sprite";

/** The area where files are dropped. */
interface Area {
  readonly root: HTMLElement;
  readonly dataset: Dataset | null;
  readonly api: Api;
  opened(id: string): void;
  joined(): void;
  notify(text: string): void;
}

function zone(title: string, text = ""): HTMLElement {
  return make("div", { className: "pj-zone" }, make("b", {}, title), make("span", {}, text));
}

export class Drop {
  readonly area: Area;
  readonly abort = new AbortController();
  readonly vectors = zone(
    "Open as an embedding",
    "one vector per line, or a checkpoint: TSV, CSV, JSON lines, Parquet, NumPy, safetensors, torch, Keras",
  );
  readonly metadata = zone("Metadata");
  readonly pictures = zone("Sprite image", "one image with the images of all points, row by row");
  readonly zones = make(
    "div",
    { className: "pj-zones", hidden: true },
    this.vectors,
    this.metadata,
    this.pictures,
  );
  readonly bar = make("i");
  readonly text = make("span");
  readonly progress = make(
    "div",
    { className: "pj-upload", role: "status", hidden: true },
    this.text,
    make("div", { className: "pj-progress" }, this.bar),
    button("Cancel", "Cancel the upload", () => this.sending?.cancel(), "small plain"),
  );
  readonly file = make("input", {
    type: "file",
    accept: KINDS,
    hidden: true,
    "aria-label": "File of an embedding",
  });
  sending: Upload | null = null;

  constructor(area: Area) {
    this.area = area;
    this.file.addEventListener("change", () => {
      const [file] = this.file.files ?? [];
      this.file.value = "";
      if (file) this.offer(file);
    });
    area.root.append(this.zones, this.progress, this.file);
    const { signal } = this.abort;
    const isMeant = ({ dataTransfer }: DragEvent) =>
      area.root.isConnected && Boolean(dataTransfer?.types.includes("Files"));
    window.addEventListener("dragover", (event) => {
      if (!isMeant(event)) return;
      event.preventDefault();
      this.show(event);
    }, { signal });
    window.addEventListener("dragleave", (event) => !event.relatedTarget && this.hide(), { signal });
    window.addEventListener("drop", (event) => {
      if (!isMeant(event)) return;
      event.preventDefault();
      const files = [...(event.dataTransfer?.files ?? [])];
      const route = this.over(event);
      this.hide();
      if (!files.length) return;
      if (files.length > 1) area.notify(`Only one file at a time: opening ${files[0].name}.`);
      void this.send(files[0], route);
    }, { signal });
  }

  close(): void {
    this.abort.abort();
    this.sending?.cancel();
  }

  /** The dataset that metadata and pictures can join. */
  get joins(): Dataset | null {
    const { dataset } = this.area;
    return dataset?.id.startsWith("|dropped|") ? dataset : null;
  }

  /** The route for whatever is under the mouse. */
  over(event: DragEvent): Route {
    if (!this.joins) return "drop";
    const path = event.composedPath();
    return path.includes(this.metadata) ? "drop_metadata" : path.includes(this.pictures) ? "drop_sprite" : "drop";
  }

  show(event: DragEvent): void {
    const { joins } = this;
    this.zones.hidden = false;
    this.metadata.hidden = this.pictures.hidden = !joins;
    this.metadata.lastElementChild?.replaceChildren(
      joins ? `of ${joins.info.label}: one line a point, in the same order` : "",
    );
    const over = this.over(event);
    this.vectors.classList.toggle("over", over === "drop");
    this.metadata.classList.toggle("over", over === "drop_metadata");
    this.pictures.classList.toggle("over", over === "drop_sprite");
  }

  hide(): void {
    this.zones.hidden = true;
  }

  ask(): void {
    this.file.click();
  }

  /** Handles a file chosen with the button: it may be metadata of the open embedding. */
  offer(file: File): void {
    const { joins } = this;
    if (!joins || !/\.(tsv|csv|txt|jsonl)$/i.test(file.name)) {
      return void this.send(file, joins && file.type.startsWith("image/") ? "drop_sprite" : "drop");
    }
    const send = (route: Route) => {
      box.close();
      void this.send(file, route);
    };
    const label = `Metadata of ${joins.info.label}`;
    const box = make(
      "dialog",
      { className: "pj-dialog", "aria-label": "What the file is" },
      make("p", {}, `What is ${file.name}?`),
      make(
        "div",
        { className: "pj-row" },
        button("An embedding", "Open it", () => send("drop"), "main"),
        button(label, "Adds its columns to the open embedding", () => send("drop_metadata")),
      ),
    );
    box.addEventListener("close", () => box.remove());
    document.body.append(box);
    box.showModal();
  }

  async send(file: File, route: Route): Promise<void> {
    const { area } = this;
    const id = route === "drop" ? null : area.dataset?.id;
    this.sending?.cancel();
    const tell = (share: number) => {
      this.bar.style.width = `${share * 100}%`;
      this.text.textContent = share < 1 ? `Uploading ${file.name}, ${fileSize(file.size)}` : `Reading ${file.name}…`;
    };
    this.progress.hidden = false;
    tell(0);
    const sending = (this.sending = area.api.upload(route, { id, name: file.name }, file, tell));
    try {
      const answer = await sending.done;
      if (route === "drop") area.opened(answer.id);
      else if (area.dataset?.id === id) area.joined();
    } catch (error) {
      area.notify(messageOf(error));
    } finally {
      if (this.sending === sending) {
        this.sending = null;
        this.progress.hidden = true;
      }
    }
  }
}
