// The images panel: a picture large, and its neighbours by the arrow keys.
(function () {
  "use strict";
  const scope = (window.stepscope = window.stepscope || {});
  const images = (scope.images = scope.images || {});
  const { elements } = scope;
  const { make, icon, runLabel } = elements;

  /** What is open: the dialog, its card and run. @type {{dialog: HTMLDialogElement, card: object, run: string, url: string} | null} */
  let large = null;

  function open(card, run) {
    const dialog = make("dialog", { id: "large", tabIndex: -1, "aria-label": "Picture" });
    const button = (name, title, act) => {
      const made = make("button", { className: "icon-button", title }, icon(name, 18));
      made.addEventListener("click", act);
      return made;
    };
    const previous = button("left", "Previous step (←)", () => turn(-1));
    const next = button("right", "Next step (→)", () => turn(1));
    const download = make("a", { className: "icon-button", title: "Download", download: "" }, icon("download", 16));
    const close = button("close", "Close (Esc)", () => dialog.close());
    const head = make("header", {}, make("div", { className: "what" }), download, close);
    const view = make("div", { className: "view" });
    dialog.append(head, view, make("footer", {}, previous, make("output", { className: "at" }), next));
    dialog.addEventListener("close", () => {
      dialog.remove();
      large = null;
      images.cards.writeUrl();
    });
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog || event.target === view) dialog.close();
    });
    document.body.append(dialog);
    large = { dialog, card, run, url: "" };
    dialog.showModal();
    dialog.focus();
    show();
  }

  /** To the run's previous or next picture; the card moves along. */
  function turn(by) {
    const run = large.card.runs.find((entry) => entry.run === large.run);
    const here = large.card.positions[images.cards.position(large.card)];
    const at = images.steps.nearest(run.points, here.step, here.nth) + by;
    if (at < 0 || at >= run.points.length) return;
    const point = run.points[at];
    images.cards.move(large.card, images.steps.nearest(large.card.positions, point.step, point.nth));
    show();
  }

  function turnRun(by) {
    const runs = large.card.runs;
    const at = runs.findIndex((entry) => entry.run === large.run) + by;
    if (at < 0 || at >= runs.length) return;
    large.run = runs[at].run;
    show();
  }

  /** Brings what is open in line with its card. */
  async function show() {
    if (!large) return;
    const { dialog, card } = large;
    const run = card.runs.find((entry) => entry.run === large.run);
    if (!run) return dialog.close();
    const here = card.positions[images.cards.position(card)];
    const at = images.steps.nearest(run.points, here.step, here.nth);
    const wanted = { run: run.run, tag: card.tag, point: run.points[at], sample: images.cards.sample(card) };
    const url = images.pictures.url(wanted);
    large.url = url;
    const result = await images.pictures.fetch(wanted, url);
    if (!large || large.url !== url) return;
    const what = dialog.querySelector(".what");
    what.replaceChildren(make("strong", {}, card.tag), runLabel(run), make("span", { className: "dim" }, result.image ? images.pictures.facts(result.info) : ""));
    const label = dialog.querySelector("footer .at");
    label.textContent = `step ${elements.step(wanted.point.step)} · ${elements.when(wanted.point.wall)} · ${at + 1} of ${run.points.length}`;
    const download = dialog.querySelector("a");
    download.href = url + "&download=true";
    download.hidden = !result.image;
    const view = dialog.querySelector(".view");
    view.replaceChildren(result.element);
    if (result.image) images.pictures.crisp(result.image);
    const [previous, next] = dialog.querySelectorAll("footer button");
    previous.disabled = at === 0;
    next.disabled = at === run.points.length - 1;
  }

  const KEYS = { ArrowLeft: () => turn(-1), ArrowRight: () => turn(1), ArrowUp: () => turnRun(-1), ArrowDown: () => turnRun(1) };
  document.addEventListener("keydown", (event) => {
    if (!large || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  images.large = { open, show };
})();
