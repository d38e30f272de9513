/** The dialog that records a running program through its profiler.server, and opens the trace. */
import { integer } from "../core/numbers.ts";
import * as dash from "../core/dash.ts";
import * as frame from "./layout.ts";
import { iconButton, make, storage, within } from "../core/dom.ts";
import { isAbort } from "../core/request.ts";
import { popover } from "../core/popover.ts";
import type { Captured, CaptureProblem, CaptureRules } from "./messages.generated.ts";
import { view } from "./view.ts";

const ROUTE = "api/capture";
const STORED = "stepscope-capture";
const MOST_SECONDS = 600;
const STEPS_WITHIN_SECONDS = 60;
const NOTE_MS = 12000;
const TICK_MS = 100;

interface Form {
  address: string;
  amount: string;
  unit: "s" | "steps";
  run: string;
  host: string;
  python: boolean;
  device: boolean;
  delay: string;
  collectors: string[];
}

// Kept only as long as the page is open, and stored nowhere else.
let token = "";
let running: { abort: AbortController; began: number; form: Form } | null = null;
/** Shows the progress of the capture in the open dialog. */
let show: (() => void) | null = null;
let problem = "";
let ticking = 0;

/** The remembered form of the last capture; what depends on the log directory only applies to the same one. */
function remembered(rules: CaptureRules): Form {
  let kept: Partial<Form> & { logdir?: string } = {};
  try {
    kept = JSON.parse(storage.get(STORED) || "{}") || {};
  } catch {
    // The stored value is not one that this page wrote.
  }
  const form: Form = {
    address: rules.usual,
    amount: "2",
    unit: "s",
    run: "",
    host: "2",
    python: false,
    device: true,
    delay: "0",
    collectors: [],
  };
  const known = Object.keys(form) as (keyof Form)[];
  const fitting = known.filter((name) => typeof kept[name] === typeof form[name]);
  Object.assign(form, Object.fromEntries(fitting.map((name) => [name, kept[name]])));
  const places = [
    kept.logdir === document.title ? form.run : "",
    openRun(),
    rules.runs.length === 1 ? rules.runs[0] : ".",
  ];
  form.run = places.find((run) => run === "." || rules.runs.includes(run)) ?? ".";
  form.collectors = Array.isArray(form.collectors)
    ? form.collectors.filter((name) => rules.collectors.includes(name))
    : [];
  return form;
}

const remember = (form: Form) => storage.set(STORED, JSON.stringify({ ...form, logdir: document.title }));

/** The run of the open trace. */
const openRun = () => (view.values("timeline.trace")[0] || "").split(/\|(?:file|tag)\|/)[0];

// --- the form ------------------------------------------------------------------------------------------------

const row = (label: string, ...controls: ((Node | string))[]) =>
  make("label", { className: "row" }, make("span", {}, label), ...controls);

const select = (label: string, options: [string, string][], chosen: string) =>
  make(
    "select",
    { "aria-label": label },
    ...options.map(([value, text]) => make("option", { value, selected: value === chosen }, text)),
  );

function check(label: string, checked: boolean) {
  const input = make("input", { type: "checkbox", checked });
  return { input, row: make("label", { className: "check" }, input, label) };
}

/** The fields, and a function that reads them. */
function fields(rules: CaptureRules) {
  const form = remembered(rules);
  const address = make("input", {
    type: "text",
    className: "text-field",
    value: form.address,
    spellcheck: false,
    autocomplete: "off",
    required: true,
    placeholder: "localhost:6009",
    title: "Host and port of a program that called profiler.server.start",
    "aria-label": "Address of the program",
  });
  const known = make(
    "datalist",
    { id: "capture-addresses" },
    ...rules.addresses.map((value) => make("option", { value })),
  );
  if (rules.addresses.length) address.setAttribute("list", known.id);
  const amount = make("input", { type: "number", value: form.amount, required: true, "aria-label": "How long" });
  const unit = select("Seconds or steps", [["s", "seconds"], ["steps", "training steps"]], form.unit);
  const bounds = () => {
    const steps = unit.value === "steps";
    Object.assign(amount, { min: steps ? 1 : 0.1, max: steps ? 10000 : MOST_SECONDS, step: steps ? 1 : "any" });
  };
  unit.addEventListener("change", bounds);
  bounds();
  const run = select("Run that the trace belongs to", [
    [".", "the log directory itself"],
    ...rules.runs.map((name) => ([name, name] as [string, string])),
  ], form.run);
  const secret = make("input", {
    type: "password",
    className: "text-field",
    value: token,
    autocomplete: "new-password",
    placeholder: "if the program requires one",
    title: "The token of profiler.server.start(token=…); kept until this page is closed",
    "aria-label": "Token",
  });
  const host = select(
    "Host",
    [["0", "steps only"], ["1", "steps and scopes"], ["2", "steps, scopes, memory, CPU"]],
    form.host,
  );
  const python = check("Every Python function call", form.python);
  const device = check("Kernels and copies, if there is a device", form.device);
  const delay = make("input", {
    type: "number",
    min: 0,
    max: MOST_SECONDS * 1000,
    step: 1,
    value: form.delay,
    required: true,
    "aria-label": "Milliseconds to discard at the start",
  });
  const only = rules.collectors.map((name) => ({ name, ...check(name, form.collectors.includes(name)) }));
  const instead = () => (python.input.disabled = device.input.disabled = only.some((one) => one.input.checked));
  for (const one of only) one.input.addEventListener("change", instead);
  instead();
  const more = make(
    "details",
    { open: form.python || !form.device || form.host !== "2" || form.delay !== "0" || form.collectors.length > 0 },
    make("summary", {}, "What to record"),
    make(
      "div",
      { className: "stack" },
      row("Host", host),
      python.row,
      device.row,
      row("Discard", make("span", { className: "capture-pair" }, delay, "ms at the start")),
      make("p", { className: "hint" }, "Or these collectors instead of the above:"),
      make(
        "div",
        { className: "capture-collectors", role: "group", "aria-label": "Collectors" },
        ...only.map((one) => one.row),
      ),
    ),
  );
  const read = () => {
    token = secret.value;
    return ({
      address: address.value.trim(),
      amount: amount.value,
      unit: unit.value,
      run: run.value,
      host: host.value,
      python: python.input.checked,
      device: device.input.checked,
      delay: delay.value,
      collectors: only.filter((one) => one.input.checked).map((one) => one.name),
    } as Form);
  };
  const parts = [
    row("Program", address, known),
    row("Record", make("span", { className: "capture-pair" }, amount, unit)),
    row("Write to", run),
    row("Token", secret),
    more,
  ];
  return { parts, read, first: address };
}

/** The request body of the route. */
function order(form: Form) {
  const steps = form.unit === "steps";
  return {
    address: form.address,
    token,
    run: form.run,
    duration_ms: Math.round((steps ? STEPS_WITHIN_SECONDS : Number(form.amount)) * 1000),
    steps: steps ? Number(form.amount) : null,
    options: {
      host_tracer_level: Number(form.host),
      python_tracer_level: Number(form.python),
      device_tracer_level: Number(form.device),
      delay_ms: Number(form.delay),
    },
    collectors: form.collectors.length ? form.collectors : null,
  };
}

// --- the dialog ----------------------------------------------------------------------------------------------

async function rulesNow(): Promise<CaptureRules> {
  const answer = await fetch(ROUTE);
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.json();
}

/** Opens the dialog. */
export async function open(anchor: HTMLElement) {
  let rules: CaptureRules;
  const presses = popover.presses();
  try {
    rules = await rulesNow();
  } catch {
    return frame.say("The dashboard does not respond");
  }
  if (presses !== popover.presses()) return;
  if (rules.why_not) return frame.say(rules.why_not);
  const { parts, read, first } = fields(rules);
  const set = make("fieldset", {}, ...parts);
  const error = make("p", { className: "capture-problem", role: "alert" });
  const bar = make("progress", { max: 1, "aria-label": "Progress" });
  const state = make("span", { className: "capture-state", role: "status" });
  const cancel = make("button", { type: "button", className: "quiet" }, "Cancel");
  const go = make("button", { type: "submit", className: "primary" }, "Capture");
  const form = make(
    "form",
    { className: "stack", noValidate: false },
    set,
    error,
    make("div", { className: "capture-end" }, make("div", { className: "capture-progress" }, bar, state), cancel, go),
  );
  cancel.addEventListener("click", () => running && running.abort.abort());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!running) start(read());
  });
  const draw = () => {
    set.disabled = Boolean(running);
    go.hidden = Boolean(running);
    cancel.hidden = bar.hidden = !running;
    error.textContent = running ? "" : problem;
    error.hidden = !error.textContent;
    const [text, share] = running ? progress(running) : ["", 0];
    if (state.textContent !== text) state.textContent = text;
    if (share === null) bar.removeAttribute("value");
    else bar.value = share;
  };
  problem = "";
  draw();
  const box = popover.show(anchor, "Capture a running program", [make("h3", {}, "Capture a running program"), form], {
    className: "capture-dialog",
    focus: running ? cancel : first,
    onClose: () => {
      read();
      show = null;
    },
  });
  if (box) show = draw;
}

/** The progress of the capture: in words, and as the share that has passed; null if unknown. */
function progress({ began, form }: { began: number; form: Form }): [string, number | null] {
  const passed = (performance.now() - began) / 1000;
  if (form.unit === "steps") {
    return [`Recording ${form.amount} ${form.amount === "1" ? "step" : "steps"}, ${passed.toFixed(0)} s`, null];
  }
  const whole = Number(form.amount) + Number(form.delay) / 1000;
  // A recording begins and ends with a step.
  if (passed < whole) return [`Recording, ${passed.toFixed(1)} of ${whole} s`, passed / whole];
  return [`Stopping the recording, ${passed.toFixed(0)} s`, null];
}

// --- the capture ---------------------------------------------------------------------------------------------

function tick() {
  mark();
  if (show) show();
}

/** Marks the button while a capture is running. */
function mark() {
  const button = document.getElementById("timeline-capture");
  if (button) button.classList.toggle("running", Boolean(running));
}

async function start(form: Form) {
  remember(form);
  running = { abort: new AbortController(), began: performance.now(), form };
  problem = "";
  ticking = window.setInterval(tick, TICK_MS);
  tick();
  const found = await ask(form, running.abort.signal);
  clearInterval(ticking);
  running = null;
  const watched = show !== null;
  if ("message" in found) {
    problem = found.message;
    if (!watched && problem) note([make("span", {}, problem)], true);
    return tick();
  }
  tick();
  succeed(found, watched);
}

/** The route's response; on failure, the reason as `message`, which is empty if the user canceled. */
async function ask(form: Form, signal: AbortSignal): Promise<Captured | Pick<CaptureProblem, "message">> {
  try {
    const answer = await fetch(ROUTE, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(order(form)),
      signal,
    });
    const found = await answer.json();
    if (answer.ok) return found;
    return {
      message: typeof found.detail === "string"
        ? found.detail
        : `The dashboard refused the request (status ${answer.status}).`,
    };
  } catch (error) {
    return { message: isAbort(error) ? "" : "Lost the connection to the dashboard. Is it still running?" };
  }
}

/** Opens the new trace if the user is waiting for it, and otherwise offers it. */
function succeed(found: Captured, watched: boolean) {
  const there = view.tabs().some((tab) => tab.open && tab.name === "timeline");
  const { trace } = found;
  if (watched) popover.close();
  const text = [make("b", {}, "Recorded "), summary(found)];
  if (!trace) {
    return note([make("span", {}, ...text, ` to ${found.file}, which is not listed yet.`)], false, found.notes);
  }
  const openTrace = () => view.open("timeline", { "timeline.trace": [trace], "timeline.range": [""] });
  if (watched || there) {
    openTrace();
    return note([make("span", {}, ...text, ".")], false, found.notes);
  }
  const go = make("button", { type: "button", className: "link" }, "Open");
  go.addEventListener("click", openTrace);
  note([make("span", {}, ...text, "."), go], false, found.notes);
}

/** "20 steps, 12 to 31: 840 records (1 unfinished) of process 7 on host" */
function summary(found: Captured) {
  const number = (value: number) => integer(Number(value));
  const steps = found.steps === 1
    ? `step ${found.first_step}`
    : `${number(found.steps)} steps, ${found.first_step} to ${found.last_step}`;
  const unfinished = found.unfinished ? ` (${number(found.unfinished)} unfinished)` : "";
  return `${found.steps ? steps + ": " : ""}${number(found.records)} ${
    found.records === 1 ? "record" : "records"
  }${unfinished} of process ${found.pid} on ${found.host}`;
}

/** Shows a note, which disappears after a while. */
function note(parts: Node[], bad: boolean, more: string[] = []) {
  document.getElementById("capture-note")?.remove();
  const close = iconButton("close", "Close", () => box.remove(), 11);
  const lines = more.map((text) => make("p", {}, `Note: ${text.replace(/\.$/, "")}.`));
  const box = make(
    "div",
    { id: "capture-note", className: bad ? "bad" : "", role: bad ? "alert" : "status" },
    make("div", { className: "capture-said" }, ...parts, close),
    ...lines,
  );
  document.body.append(box);
  // A note that must be read stays.
  if (!bad && !more.length) setTimeout(() => box.remove(), NOTE_MS);
}

// --- the button ----------------------------------------------------------------------------------------------

document.addEventListener("click", (event) => {
  const button = within(event, "#timeline-capture");
  if (button) void open(button);
});

dash.callbacks("stepscopeCapture", {
  /** When the Timeline tab opens: whether its button is disabled, and its title. */
  async ready() {
    let reason = "";
    try {
      reason = (await rulesNow()).why_not;
    } catch {
      // Pressing the button asks again.
    }
    setTimeout(mark);
    return [Boolean(reason), reason || "Record a running program, and open its trace"];
  },
});
