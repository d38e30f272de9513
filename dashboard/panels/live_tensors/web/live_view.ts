/** What a running program shows with `stepscope.debug.show`, frame by frame while the page is connected. */
import { arrange, iconButton, make, stepText, storage } from "../../../web/core/dom.ts";
import { fileName } from "../../../web/core/download.ts";
import { counted, integer, shortNumber } from "../../../web/core/numbers.ts";
import { isAbort, messageOf, reasonOf } from "../../../web/core/request.ts";
import type {
  CaptureProblem,
  CaptureRules,
  LiveFrame,
  LiveSection,
  LiveTensor,
  NoLiveFrame,
} from "../../../web/page/messages.generated.ts";
import { view } from "../../../web/page/view.ts";
import { controls, field, limits } from "./controls.ts";
import { decoded, drawn, enlargement, indexOf, valueOf } from "./picture.ts";
import { settings } from "./settings.generated.ts";

const ROUTE = "api/capture/live";
const STORED = "stepscope-live";
const WAIT_MS = 1000;
const RETRY_MS = 2000;
/** The number of frames over which the rate is averaged. */
const RATE_OF = 10;

// Kept only while the page is open, and nowhere else.
let token = "";

interface Shown {
  element: HTMLElement;
  canvas: HTMLCanvasElement;
  caption: HTMLElement;
  tensor: LiveTensor;
  pixels: Uint8Array;
}

interface ShownSection {
  element: HTMLElement;
  change: HTMLElement;
  pictures: HTMLElement;
}

/** The view, inside an element; `stop` ends it. */
export class LiveView {
  #host: HTMLElement;
  /** Tells this view from others that watch the same program. */
  #viewer = crypto.getRandomValues(new Uint32Array(2)).join("-");
  #abort = new AbortController();
  #running = false;
  #after = -1;
  #arrivals: number[] = [];
  #shown = new Map<string, Shown>();
  #shownSections = new Map<string, ShownSection>();
  #status = make("span", { className: "live-status", role: "status" });
  #sections = make("div", { className: "live-sections" });
  #address: HTMLInputElement;
  #token: HTMLInputElement;
  #go: HTMLButtonElement;

  constructor(host: HTMLElement) {
    this.#host = host;
    this.#address = field("Address of the program", "localhost:6009", storage.get(STORED) || "", "text");
    this.#address.title = "Host and port of a program that called profiler.server.start";
    this.#token = field("Token", "Token, if required", token, "password");
    this.#token.title = "The token of profiler.server.start(token=…); kept until this page is closed";
    this.#go = make("button", { type: "submit", className: "primary" }, "Connect");
    const form = make("form", { className: "live-form" }, this.#address, this.#token, this.#go);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.toggle();
    });
    host.replaceChildren(
      make("div", { className: "live-bar" }, form, ...controls(() => this.#changed())),
      make("div", { className: "live-line" }, this.#status),
      this.#sections,
    );
    this.#explain();
    void this.#suggest();
  }

  get host(): HTMLElement {
    return this.#host;
  }

  /** Connects to the program, or disconnects. */
  toggle(): void {
    if (this.#running) this.#end("");
    else if (this.#address.reportValidity()) this.#begin();
  }

  stop(): void {
    this.#end("");
    this.#host.replaceChildren();
  }

  async #suggest() {
    try {
      const answer = await fetch("api/capture");
      if (!answer.ok) return;
      const rules: CaptureRules = await answer.json();
      if (this.#address.value) return;
      this.#address.value = rules.usual;
      // Select it, so that typing replaces it.
      if (document.activeElement === this.#address) this.#address.select();
    } catch {
      // The page reports elsewhere that the server is gone.
    }
  }

  #begin() {
    storage.set(STORED, this.#address.value.trim());
    token = this.#token.value;
    this.#running = true;
    this.#go.textContent = "Disconnect";
    this.#status.textContent = "Waiting for the program's next step";
    this.#abort = new AbortController();
    this.#after = -1;
    void this.#follow(this.#abort.signal);
  }

  #end(said: string) {
    this.#running = false;
    this.#abort.abort();
    this.#go.textContent = "Connect";
    this.#status.textContent = said;
    this.#arrivals = [];
  }

  /** Called when a frame setting changes: abandons the request made with the old setting. */
  #changed() {
    if (!this.#running) return;
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#after = -1;
    void this.#follow(this.#abort.signal);
  }

  async #follow(signal: AbortSignal) {
    while (!signal.aborted && this.#host.isConnected) {
      if (document.hidden || view.read(settings.rate) === "0") {
        await pause(RETRY_MS / 4, signal);
        continue;
      }
      try {
        const answer = await this.#ask(signal);
        if (signal.aborted) return;
        if ("problem" in answer) {
          if (answer.problem === "token") return this.#end(answer.message);
          this.#status.textContent = answer.message;
          await pause(RETRY_MS, signal);
        } else if ("sections" in answer) this.#draw(answer);
      } catch (error) {
        if (isAbort(error)) return;
        this.#status.textContent = messageOf(error);
        await pause(RETRY_MS, signal);
      }
    }
  }

  async #ask(signal: AbortSignal): Promise<LiveFrame | NoLiveFrame | CaptureProblem> {
    const fixed = view.read(settings.scale) === "fixed";
    const [lowest, highest] = limits();
    const request = {
      viewer: this.#viewer,
      names: view.read(settings.names) || "*",
      rate: Number(view.read(settings.rate)),
      scaling: view.read(settings.scale),
      ...(fixed ? { lowest, highest } : {}),
      show: view.read(settings.show),
      window: Number(view.read(settings.window)),
      after: this.#after,
      wait_ms: WAIT_MS,
    };
    const response = await fetch(ROUTE, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ address: this.#address.value.trim(), token, request }),
      signal,
    });
    if (!response.ok) throw new Error(await reasonOf(response));
    return await response.json();
  }

  // --- drawing ---------------------------------------------------------------------------------------------------

  #draw(frame: LiveFrame) {
    this.#after = frame.number;
    this.#arrivals = [...this.#arrivals.slice(1 - RATE_OF), performance.now()];
    const count = frame.sections.reduce((sum, section) => sum + section.tensors.length, 0);
    const parts = [
      frame.step === null ? `frame ${stepText(frame.number)}` : `step ${stepText(frame.step)}`,
      counted(count, "array"),
      ...(frame.left_out ? [`${integer(frame.left_out)} more not shown; filter by name to see them`] : []),
      this.#rate(),
    ];
    this.#status.textContent = parts.filter(Boolean).join(" · ");
    const names = new Set(frame.sections.flatMap((section) => section.tensors.map(({ name }) => name)));
    for (const name of this.#shown.keys()) if (!names.has(name)) this.#shown.delete(name);
    for (const name of this.#shownSections.keys()) {
      if (frame.sections.every((section) => section.name !== name)) this.#shownSections.delete(name);
    }
    arrange(this.#sections, frame.sections.map((section) => this.#section(section)));
  }

  #rate(): string {
    const times = this.#arrivals;
    if (times.length < 2) return "";
    return `${((times.length - 1) * 1000 / (times[times.length - 1] - times[0])).toFixed(1)} frames per second`;
  }

  #section(section: LiveSection): HTMLElement {
    const shown = this.#shownSections.get(section.name) ?? this.#makeSection(section.name);
    shown.change.textContent = `changes by ${shortNumber(100 * section.change, 2)}%`;
    arrange(shown.pictures, section.tensors.map((tensor) => this.#picture(tensor)));
    return shown.element;
  }

  #makeSection(name: string): ShownSection {
    const change = make("span", { className: "live-change" });
    const pictures = make("div", { className: "live-pictures" });
    const title = name || "Arrays";
    const head = make("h3", {}, title, change);
    const element = make("section", { className: "live-section", "aria-label": title }, head, pictures);
    const shown = { element, change, pictures };
    this.#shownSections.set(name, shown);
    return shown;
  }

  #picture(tensor: LiveTensor): HTMLElement {
    const known = this.#shown.get(tensor.name);
    const shown = known ?? this.#make(tensor);
    shown.tensor = tensor;
    shown.pixels = decoded(tensor.pixels);
    this.#shown.set(tensor.name, shown);
    const picture = drawn(tensor, shown.pixels);
    const { canvas } = shown;
    if (picture.width && picture.height) {
      Object.assign(canvas, { width: picture.width, height: picture.height });
      const image = new ImageData(new Uint8ClampedArray(picture.colors.buffer), picture.width, picture.height);
      canvas.getContext("2d")!.putImageData(image, 0, 0);
      const scale = enlargement(
        picture.width,
        tensor.layout === "bars" ? 1 : picture.height,
        this.#sections.clientWidth - 54,
      );
      canvas.style.width = picture.width * scale + "px";
      canvas.style.height = (tensor.layout === "bars" ? picture.height : picture.height * scale) + "px";
    }
    canvas.setAttribute("aria-label", `${tensor.name}, ${summary(tensor)}`);
    shown.caption.textContent = summary(tensor);
    shown.caption.classList.toggle("bad", tensor.not_finite > 0);
    return shown.element;
  }

  #make(tensor: LiveTensor): Shown {
    const canvas = make("canvas", { role: "img" });
    const caption = make("span", { className: "live-caption" });
    const save = iconButton("download", `Download the image of ${tensor.name}`, () => {
      const link = make("a", {
        href: canvas.toDataURL("image/png"),
        download: `${fileName(tensor.name, "array")}.png`,
      });
      link.click();
    });
    const head = make(
      "figcaption",
      {},
      make("strong", { title: tensor.name }, tensor.name.slice(tensor.name.lastIndexOf("/") + 1)),
      save,
      caption,
    );
    const shown: Shown = {
      element: make("figure", { className: "live-picture" }, head, canvas),
      canvas,
      caption,
      tensor,
      pixels: new Uint8Array(),
    };
    canvas.addEventListener("pointermove", (event) => {
      caption.textContent = at(shown, event) ?? summary(shown.tensor);
    });
    canvas.addEventListener("pointerleave", () => {
      caption.textContent = summary(shown.tensor);
    });
    return shown;
  }

  #explain() {
    const code = [
      "from stepscope import debug, profiler",
      "",
      "profiler.server.start(6009)",
      "for step, batch in enumerate(batches):",
      "    train_step(batch)",
      '    debug.show("decoder/attention", model.attention.weight)',
    ].join("\n");
    this.#sections.replaceChildren(
      make(
        "div",
        { className: "live-empty" },
        make("p", {}, "Watch the tensors of a running program. Add this to it:"),
        make("pre", { tabIndex: 0 }, code),
        make("p", {}, "Then press Connect. While no page is connected, it costs the program nothing."),
      ),
    );
  }
}

/** The text below a picture. */
export function summary({ shape, dtype, lowest, highest, not_finite, shown }: LiveTensor): string {
  const parts = [`${shape.join(" × ") || "one number"} ${dtype}`, `${shortNumber(lowest)} to ${shortNumber(highest)}`];
  const size = shape.reduce((product, extent) => product * extent, 1);
  if (shown < size) parts.push(`${stepText(shown)} of ${stepText(size)} shown`);
  if (not_finite) parts.push(`${stepText(not_finite)} not finite`);
  return parts.join(" · ");
}

/** The index of the element under the pointer, and its value. */
function at({ canvas, tensor, pixels }: Shown, event: PointerEvent): string | null {
  const box = canvas.getBoundingClientRect();
  const x = Math.floor(((event.clientX - box.left) / box.width) * tensor.width);
  const y = tensor.layout === "bars" ? 0 : Math.floor(((event.clientY - box.top) / box.height) * tensor.height);
  if (x < 0 || y < 0 || x >= tensor.width || y >= tensor.height || tensor.layout === "colors") return null;
  const pixel = pixels[y * tensor.width + x];
  if (pixel === 1) return null;
  const value = valueOf(tensor, pixel);
  const index = indexOf(tensor, x, y);
  const place = index.length === 2 ? `row ${index[0]}, column ${index[1]}` : `[${index.join(", ")}]`;
  return `${place}: ${value === null ? "not finite" : `about ${shortNumber(value)}`}`;
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
