// The images panel: a step slider for each card, pictures loaded when they are looked at, a large view.
(function () {
  "use strict";
  const scope = (window.stepscope = window.stepscope || {});
  const { make, icon, runLabel, numbers } = scope.cards;
  const PLAY_MS = 400;
  const EXTENSIONS = { "image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP", "image/bmp": "BMP" };

  /**
   * @typedef {{step: number, nth: number, index: number, wall: number}} Point a run's picture; `nth` counts repeats of a step
   * @typedef {{run: string, light: string, dark: string, points: Point[]}} Run
   * @typedef {{tag: string, runs: Run[], positions: Point[], body: HTMLElement|null, tiles: Map<string, object>}} Card
   */
  /** @type {Map<string, Card>} */
  const cards = new Map();
  /** Steps that the user chose, by tag; where there is none the newest is shown. @type {Map<string, number>} */
  const chosen = new Map();
  const samples = new Map(); // tag -> sample
  const playing = new Map(); // tag -> timer
  let chosenFromUrl = false;

  // --- what there is -----------------------------------------------------------------------------------------

  function points(run) {
    const steps = numbers(run.steps);
    const walls = numbers(run.walls);
    const found = Array.from(steps, (step, index) => ({ step, index, wall: walls[index], nth: 0 }));
    found.sort((a, b) => a.step - b.step || a.index - b.index);
    for (let i = 1; i < found.length; i += 1) if (found[i].step === found[i - 1].step) found[i].nth = found[i - 1].nth + 1;
    return found;
  }

  /** All steps of all runs of a card. */
  function positions(runs) {
    const all = new Map();
    for (const run of runs) for (const point of run.points) if (!all.has(`${point.step}:${point.nth}`)) all.set(`${point.step}:${point.nth}`, point);
    return [...all.values()].sort((a, b) => a.step - b.step || a.nth - b.nth);
  }

  /** Index of the point nearest to a step; of several at that step the one of the same repeat, or the last. */
  function nearest(sorted, step, nth) {
    let low = 0;
    let high = sorted.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle].step < step) low = middle + 1;
      else high = middle;
    }
    if (low > 0 && Math.abs(sorted[low - 1].step - step) < Math.abs(sorted[low].step - step)) low -= 1;
    const at = sorted[low].step;
    while (low + 1 < sorted.length && sorted[low + 1].step === at && sorted[low].nth < nth) low += 1;
    while (low > 0 && sorted[low - 1].step === at && sorted[low].nth > nth) low -= 1;
    return low;
  }

  function position(card) {
    const last = card.positions.length - 1;
    if (!chosen.has(card.tag)) return last;
    const [step, nth] = chosen.get(card.tag);
    return Math.max(0, nearest(card.positions, step, nth));
  }

  function readUrl() {
    if (chosenFromUrl) return;
    chosenFromUrl = true;
    for (const entry of scope.view.values("images.step")) {
      const at = entry.lastIndexOf(":");
      const step = Number(entry.slice(at + 1));
      if (at > 0 && Number.isFinite(step)) chosen.set(entry.slice(0, at), [step, 0]);
    }
  }

  const writeUrl = () =>
    scope.view.update((params, set) => set("images.step", [...chosen].map(([tag, [step]]) => `${tag}:${step}`)));

  const linked = () => scope.view.values("images.link")[0] === "on";

  /** Moves a card, and with it all others if they are linked; at the end it follows what is new. */
  function move(card, at) {
    const last = card.positions.length - 1;
    const target = card.positions[Math.min(Math.max(at, 0), last)];
    const others = linked() ? [...cards.values()] : [card];
    for (const other of others) {
      if (at >= last) chosen.delete(other.tag);
      else chosen.set(other.tag, [target.step, target.nth]);
      refresh(other);
    }
  }

  // --- a card ------------------------------------------------------------------------------------------------

  function controls(card) {
    const slider = make("input", { type: "range", min: "0", step: "1", className: "steps", "aria-label": "Step" });
    const play = make("button", { className: "icon-button act-play", title: "Play" }, icon("play"));
    const sample = make("span", { className: "samples", hidden: true });
    const before = make("button", { className: "icon-button", title: "Previous sample" }, "‹");
    const after = make("button", { className: "icon-button", title: "Next sample" }, "›");
    sample.append(before, make("span", { className: "which" }), after);
    const label = make("output", { className: "at" });
    slider.addEventListener("input", () => move(card, Number(slider.value)));
    slider.addEventListener("change", writeUrl);
    play.addEventListener("click", () => (playing.has(card.tag) ? stop(card) : start(card)));
    before.addEventListener("click", () => turnSample(card, -1));
    after.addEventListener("click", () => turnSample(card, 1));
    return make("div", { className: "controls" }, play, slider, label, sample);
  }

  function turnSample(card, by) {
    const most = Math.max(1, ...[...card.tiles.values()].map((tile) => tile.samples));
    samples.set(card.tag, ((samples.get(card.tag) || 0) + by + most) % most);
    refresh(card);
  }

  function start(card) {
    if (position(card) >= card.positions.length - 1) move(card, 0);
    playing.set(
      card.tag,
      setInterval(() => {
        if (!card.body || !card.body.isConnected) return stop(card);
        move(card, position(card) + 1);
        if (position(card) >= card.positions.length - 1) stop(card);
      }, PLAY_MS),
    );
    refresh(card);
  }

  function stop(card) {
    clearInterval(playing.get(card.tag));
    playing.delete(card.tag);
    writeUrl();
    refresh(card);
  }

  /** Brings a card's page elements in line with its data and the chosen step. */
  function refresh(card) {
    const body = card.body;
    if (!body || !body.isConnected || !card.positions.length) return;
    const last = card.positions.length - 1;
    const at = position(card);
    const slider = body.querySelector(".steps");
    slider.max = String(last);
    slider.value = String(at);
    slider.disabled = last === 0;
    const play = body.querySelector(".act-play");
    const runs = playing.has(card.tag);
    play.hidden = last === 0;
    play.title = runs ? "Stop" : "Play";
    play.replaceChildren(icon(runs ? "stop" : "play"));
    const here = card.positions[at];
    const label = body.querySelector(".at");
    label.textContent = "step " + scope.cards.step(here.step);
    slider.title = label.title = `${at + 1} of ${last + 1} steps · ${scope.cards.when(here.wall)}`;
    slider.setAttribute("aria-valuetext", label.textContent);
    label.append(make("span", { className: "dim" }, scope.cards.when(here.wall)));
    for (const run of card.runs) {
      const tile = card.tiles.get(run.run);
      if (!tile) continue;
      const point = run.points[nearest(run.points, here.step, here.nth)];
      tile.other.textContent = point.step === here.step ? "" : "step " + scope.cards.step(point.step);
      want(card, tile, run, point);
    }
  }

  function fill(card, data) {
    card.runs = data.runs.map((run) => ({ ...run, points: points(run) })).filter((run) => run.points.length);
    card.positions = positions(card.runs);
    const article = scope.cards.find("images", card.tag);
    const body = article && article.querySelector(".fill");
    if (!body) return;
    if (card.body !== body || !body.firstChild) {
      card.body = body;
      card.tiles = new Map();
      body.replaceChildren(controls(card), make("div", { className: "tiles" }));
    }
    const box = body.querySelector(".tiles");
    box.classList.toggle("few", card.runs.length < 3);
    const keep = new Set(card.runs.map((run) => run.run));
    for (const [run, tile] of card.tiles) {
      if (keep.has(run)) continue;
      tile.element.remove();
      card.tiles.delete(run);
    }
    for (const run of card.runs) {
      let tile = card.tiles.get(run.run);
      if (!tile) {
        tile = makeTile(card, run);
        card.tiles.set(run.run, tile);
      }
      box.append(tile.element);
    }
    refresh(card);
  }

  // --- a picture ---------------------------------------------------------------------------------------------

  const lazy = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        const tile = entry.target.stepscopeTile;
        tile.seen = entry.isIntersecting;
        if (tile.seen && tile.wanted) load(tile);
      }
    },
    { rootMargin: "150px 0px" },
  );

  function makeTile(card, run) {
    const picture = make("button", { className: "picture", title: "Open large" });
    const other = make("span", { className: "other dim" });
    const element = make("figure", { className: "tile" }, make("figcaption", {}, runLabel(run), other), picture);
    const tile = { element, picture, other, seen: false, wanted: null, shown: "", samples: 1 };
    picture.addEventListener("click", () => openLarge(card, run.run));
    element.stepscopeTile = tile;
    lazy.observe(element);
    return tile;
  }

  function query(run, tag, point, sample) {
    return new URLSearchParams([["run", run], ["tag", tag], ["index", String(point.index)], ["sample", String(sample)]]);
  }

  function imageUrl(wanted) {
    const parameters = query(wanted.run, wanted.tag, wanted.point, wanted.sample);
    // With these two the answer may be cached for good. A time that is not finite cannot be part of a URL.
    if (Number.isFinite(wanted.point.wall)) {
      parameters.set("step", String(wanted.point.step));
      parameters.set("wall_time", String(wanted.point.wall));
    }
    return "/api/images/image?" + parameters;
  }

  /** What is known of a picture. */
  async function describe(wanted) {
    const answer = await fetch("/api/images/point?" + query(wanted.run, wanted.tag, wanted.point, wanted.sample));
    if (!answer.ok) return { error: "The server does not have this picture any more.", samples: 0 };
    return answer.json();
  }

  function facts(info) {
    const size = info.size < 1000 ? `${info.size} B` : info.size < 1e6 ? `${(info.size / 1000).toPrecision(3)} kB` : `${(info.size / 1e6).toPrecision(3)} MB`;
    return `${info.width} × ${info.height} · ${EXTENSIONS[info.mime_type]} · ${size}`;
  }

  /** An image element whose picture is decoded already; rejects where it cannot be. */
  async function decoded(url) {
    const image = new Image();
    image.src = url;
    await image.decode();
    return image;
  }

  function want(card, tile, run, point) {
    const wanted = { run: run.run, tag: card.tag, point, sample: samples.get(card.tag) || 0 };
    tile.wanted = wanted;
    tile.card = card;
    if (tile.seen) load(tile);
  }

  async function load(tile) {
    const wanted = tile.wanted;
    const url = imageUrl(wanted);
    if (tile.shown === url || tile.loading === url) return;
    tile.loading = url;
    const result = await fetchPicture(wanted, url);
    if (tile.loading !== url) return;
    tile.loading = "";
    tile.shown = url;
    tile.samples = result.info.samples || 1;
    showSamples(tile.card);
    tile.picture.replaceChildren(result.element);
    tile.picture.classList.toggle("failed", !result.image);
    tile.picture.title = result.image ? facts(result.info) + " · click to open large" : "";
    if (result.image) crisp(result.image);
  }

  /** The picture, or a placeholder that says why there is none. */
  async function fetchPicture(wanted, url) {
    let info = { samples: 0, error: "" };
    try {
      info = await describe(wanted);
      if (info.error) throw new Error(info.error);
      const image = await decoded(url);
      image.alt = `${wanted.tag}, ${wanted.run}, step ${wanted.point.step}`;
      image.draggable = false;
      return { info, image, element: image };
    } catch (error) {
      const why =
        info.error ||
        (info.mime_type
          ? `The browser cannot decode this ${EXTENSIONS[info.mime_type]} (${facts(info)}); its bytes are damaged.`
          : "No answer from the server.");
      const element = make("span", { className: "no-picture" }, icon("alert", 18), make("span", {}, why));
      return { info, image: null, element };
    }
  }

  function showSamples(card) {
    const most = Math.max(1, ...[...card.tiles.values()].map((tile) => tile.samples));
    const box = card.body.querySelector(".samples");
    box.hidden = most < 2;
    box.querySelector(".which").textContent = `sample ${(samples.get(card.tag) || 0) + 1} of ${most}`;
  }

  /** Pixels stay squares where a small picture is enlarged. */
  function crisp(image) {
    image.classList.toggle("crisp", image.clientWidth * devicePixelRatio > image.naturalWidth * 1.5);
  }
  addEventListener("resize", () => document.querySelectorAll(".picture img, #large img").forEach(crisp));

  // --- large -------------------------------------------------------------------------------------------------

  let large = null;

  function openLarge(card, run) {
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
      writeUrl();
    });
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog || event.target === view) dialog.close();
    });
    document.body.append(dialog);
    large = { dialog, card, run, at: null };
    dialog.showModal();
    dialog.focus();
    showLarge();
  }

  /** To the run's previous or next picture; the card moves along. */
  function turn(by) {
    const run = large.card.runs.find((entry) => entry.run === large.run);
    const here = large.card.positions[position(large.card)];
    const at = nearest(run.points, here.step, here.nth) + by;
    if (at < 0 || at >= run.points.length) return;
    const point = run.points[at];
    move(large.card, nearest(large.card.positions, point.step, point.nth));
    showLarge();
  }

  function turnRun(by) {
    const runs = large.card.runs;
    const at = runs.findIndex((entry) => entry.run === large.run) + by;
    if (at < 0 || at >= runs.length) return;
    large.run = runs[at].run;
    showLarge();
  }

  async function showLarge() {
    const { dialog, card } = large;
    const run = card.runs.find((entry) => entry.run === large.run);
    if (!run) return dialog.close();
    const here = card.positions[position(card)];
    const at = nearest(run.points, here.step, here.nth);
    const wanted = { run: run.run, tag: card.tag, point: run.points[at], sample: samples.get(card.tag) || 0 };
    const url = imageUrl(wanted);
    large.url = url;
    const result = await fetchPicture(wanted, url);
    if (!large || large.url !== url) return;
    const what = dialog.querySelector(".what");
    what.replaceChildren(make("strong", {}, card.tag), runLabel(run), make("span", { className: "dim" }, result.image ? facts(result.info) : ""));
    const label = dialog.querySelector("footer .at");
    label.textContent = `step ${scope.cards.step(wanted.point.step)} · ${scope.cards.when(wanted.point.wall)} · ${at + 1} of ${run.points.length}`;
    const download = dialog.querySelector("a");
    download.href = url + "&download=true";
    download.hidden = !result.image;
    const view = dialog.querySelector(".view");
    view.replaceChildren(result.element);
    if (result.image) crisp(result.image);
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

  // --- toolbar -----------------------------------------------------------------------------------------------

  /** What the toolbar says, as CSS. */
  function adjust() {
    const root = document.documentElement;
    for (const name of ["brightness", "contrast"]) {
      const value = Number(scope.view.values("images." + name)[0] ?? 1);
      root.style.setProperty("--" + name, String(value));
      const shown = document.querySelector(`.adjusted[data-setting="images.${name}"]`);
      if (shown) shown.textContent = Math.round(value * 100) + " %";
    }
    root.dataset.imageSize = scope.view.values("images.size")[0] === "actual" ? "actual" : "fit";
    root.classList.toggle("images-adjusted", root.style.getPropertyValue("--brightness") !== "1" || root.style.getPropertyValue("--contrast") !== "1");
    document.querySelectorAll(".picture img").forEach(crisp);
  }

  const clientside = {
    drawImages(all) {
      readUrl();
      for (const data of all) {
        if (!data) continue;
        let card = cards.get(data.tag);
        if (!card) cards.set(data.tag, (card = { tag: data.tag, runs: [], positions: [], body: null, tiles: new Map(), data: null }));
        const mounted = card.body && card.body.isConnected;
        if (card.data === data && mounted) continue;
        card.data = data;
        fill(card, data);
      }
      if (large) showLarge();
      return window.dash_clientside.no_update;
    },
    resetAdjustments: () => [1, 1],
    adjustImages() {
      adjust();
      return window.dash_clientside.no_update;
    },
  };
  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    stepscope: Object.assign({}, (window.dash_clientside || {}).stepscope, clientside),
  });
})();
