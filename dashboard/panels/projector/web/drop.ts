// @ts-nocheck
/** Files that are dropped on the Projector panel: vectors open as an embedding, metadata joins the one that is open. */
import * as parts from "./parts.ts";
import { format } from "./parts.ts";

const KINDS =
  ".npy,.npz,.safetensors,.pt,.pth,.bin,.h5,.keras,.tsv,.csv,.txt,.jsonl,.parquet,.arrow,.feather,.index,.ckpt,.png,.jpg,.jpeg";

export class Drop {
  panel;
  abort = new AbortController();
  depth = 0;
  vectors;
  metadata;
  pictures;
  zones;
  bar;
  text;
  cancel;
  progress;
  file: HTMLInputElement;
  sending: any;

  constructor(
    panel: {
      root: HTMLElement;
      dataset: any;
      api: any;
      opened: (id: string) => void;
      joined: () => void;
      notify: (text: string) => void;
    },
  ) {
    const { make } = parts;
    this.panel = panel;
    this.vectors = make(
      "div",
      { className: "pj-zone" },
      make("b", {}, "Open as an embedding"),
      make(
        "span",
        {},
        "one vector a line, or a checkpoint: TSV, CSV, JSON lines, Parquet, NumPy, safetensors, torch, Keras",
      ),
    );
    this.metadata = make("div", { className: "pj-zone" }, make("b", {}, "Metadata"), make("span", {}));
    this.pictures = make(
      "div",
      { className: "pj-zone" },
      make("b", {}, "Pictures"),
      make("span", {}, "one picture that holds those of all points, line by line"),
    );
    this.zones = make("div", { className: "pj-zones", hidden: true }, this.vectors, this.metadata, this.pictures);
    this.bar = make("i", {});
    this.text = make("span", {});
    this.cancel = parts.button("Cancel", "Do not send the file", () => this.sending?.cancel(), "small plain");
    this.progress = make(
      "div",
      { className: "pj-upload", role: "status", hidden: true },
      this.text,
      make("div", { className: "pj-progress" }, this.bar),
      this.cancel,
    );
    this.file = make("input", {
      type: "file",
      accept: KINDS,
      hidden: true,
      "aria-label": "File of an embedding",
    }) as HTMLInputElement;
    this.file.addEventListener("change", () => {
      const [file] = this.file.files ?? [];
      this.file.value = "";
      if (file) this.offer(file);
    });
    panel.root.append(this.zones, this.progress, this.file);
    const options = { signal: this.abort.signal };
    const area = panel.root;
    const hasFiles = (event: DragEvent) => Boolean(event.dataTransfer?.types.includes("Files"));
    window.addEventListener("dragover", (event) => {
      if (!area.isConnected || !hasFiles(event)) return;
      event.preventDefault();
      this.show(event);
    }, options);
    window.addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) this.hide();
    }, options);
    window.addEventListener("drop", (event) => {
      if (!area.isConnected || !hasFiles(event)) return;
      event.preventDefault();
      const [file] = event.dataTransfer?.files ?? [];
      const route = this.over(event);
      this.hide();
      if (!file) return;
      if ((event.dataTransfer?.files.length ?? 0) > 1) panel.notify(`One file at a time: ${file.name} is opened.`);
      void this.send(file, route);
    }, options);
  }

  close() {
    this.abort.abort();
    this.sending?.cancel();
  }

  /** Whether metadata can join what is open. */
  get joins() {
    return Boolean(this.panel.dataset?.id.startsWith("|dropped|"));
  }

  /** The route for what is under the mouse. */
  over(event: DragEvent): "drop" | "drop_metadata" | "drop_sprite" {
    if (!this.joins) return "drop";
    const path = event.composedPath();
    return path.includes(this.metadata) ? "drop_metadata" : path.includes(this.pictures) ? "drop_sprite" : "drop";
  }

  show(event: DragEvent) {
    this.zones.hidden = false;
    this.metadata.hidden = this.pictures.hidden = !this.joins;
    (this.metadata.lastChild as HTMLElement).textContent = this.joins
      ? `of ${this.panel.dataset.info.label}: one line a point, in the same order`
      : "";
    const over = this.over(event);
    this.vectors.classList.toggle("over", over === "drop");
    this.metadata.classList.toggle("over", over === "drop_metadata");
    this.pictures.classList.toggle("over", over === "drop_sprite");
  }

  hide() {
    this.zones.hidden = true;
  }

  ask() {
    this.file.click();
  }

  /** A file that was chosen by the button: may be metadata of what is open. */
  offer(file: File) {
    if (!this.joins || !/\.(tsv|csv|txt|jsonl)$/i.test(file.name)) {
      return void this.send(file, this.joins && file.type.startsWith("image/") ? "drop_sprite" : "drop");
    }
    const { make, button } = parts;
    const box = make(
      "dialog",
      { className: "pj-dialog", "aria-label": "What the file is" },
      make("p", {}, `What is ${file.name}?`),
      make(
        "div",
        { className: "pj-row" },
        button("An embedding", "Open it", () => (box.close(), this.send(file, "drop")), "main"),
        button(
          `Metadata of ${this.panel.dataset.info.label}`,
          "Its columns join what is open",
          () => (box.close(), this.send(file, "drop_metadata")),
        ),
      ),
    );
    box.addEventListener("close", () => box.remove());
    document.body.append(box);
    box.showModal();
  }

  async send(file: File, route: "drop" | "drop_metadata" | "drop_sprite") {
    const { panel } = this;
    const id = route === "drop" ? null : panel.dataset.id;
    this.sending?.cancel();
    const tell = (share: number) => {
      this.bar.style.width = `${share * 100}%`;
      this.text.textContent = share < 1 ? `Sending ${file.name}, ${format.bytes(file.size)}` : `Reading ${file.name}…`;
    };
    this.progress.hidden = false;
    tell(0);
    const sending = (this.sending = panel.api.upload(route, { id, name: file.name }, file, tell));
    try {
      const answer = await sending.done;
      if (route === "drop") panel.opened(answer.id);
      else if (panel.dataset?.id === id) panel.joined();
    } catch (error) {
      panel.notify(error.message);
    } finally {
      if (this.sending === sending) {
        this.sending = undefined;
        this.progress.hidden = true;
      }
    }
  }
}
