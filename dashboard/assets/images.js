// The images panel: a step slider for each card, pictures loaded when they are looked at.
(function () {
  "use strict";
  const scope = (window.stepscope = window.stepscope || {});
  const images = (scope.images = scope.images || {});
  const { make, icon, runLabel } = scope.elements;
  const PLAY_MS = 400;

  /**
   * @typedef {{step: number, nth: number, index: number, wall: number}} Point as images_steps.js has it
   * @typedef {{run: string, light: string, dark: string, points: Point[]}} Run
   * @typedef {{tag: string, runs: Run[], positions: Point[], body: HTMLElement|null, tiles: Map<string, object>}} Card
   */
  /** @type {Map<string, Card>} */
  const cards = new Map();
  /** Step and repeat that the user chose, by tag; where there is none the newest is shown. @type {Map<string, [number, number]>} */
  const chosen = new Map();
  const samples = new Map(); // tag -> sample
  const playing = new Map(); // tag -> timer
  let chosenFromUrl = false;

  // --- what there is -----------------------------------------------------------------------------------------

  function position(card) {
    const last = card.positions.length - 1;
    if (!chosen.has(card.tag)) return last;
    const [step, nth] = chosen.get(card.tag);
    return Math.max(0, images.steps.nearest(card.positions, step, nth));
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

  /** Which of the pictures of one step is shown. */
  const sample = (card) => samples.get(card.tag) || 0;

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
    const sampler = make("span", { className: "samples", hidden: true });
    const before = make("button", { className: "icon-button", title: "Previous sample" }, "‹");
    const after = make("button", { className: "icon-button", title: "Next sample" }, "›");
    sampler.append(before, make("span", { className: "which" }), after);
    const label = make("output", { className: "at" });
    slider.addEventListener("input", () => move(card, Number(slider.value)));
    slider.addEventListener("change", writeUrl);
    play.addEventListener("click", () => (playing.has(card.tag) ? stop(card) : start(card)));
    before.addEventListener("click", () => turnSample(card, -1));
    after.addEventListener("click", () => turnSample(card, 1));
    return make("div", { className: "controls" }, play, slider, label, sampler);
  }

  const mostSamples = (card) => Math.max(1, ...[...card.tiles.values()].map((tile) => tile.samples));

  function turnSample(card, by) {
    const most = mostSamples(card);
    samples.set(card.tag, (sample(card) + by + most) % most);
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
    label.textContent = "step " + scope.elements.step(here.step);
    slider.title = label.title = `${at + 1} of ${last + 1} steps · ${scope.elements.when(here.wall)}`;
    slider.setAttribute("aria-valuetext", label.textContent);
    label.append(make("span", { className: "dim" }, scope.elements.when(here.wall)));
    for (const run of card.runs) {
      const tile = card.tiles.get(run.run);
      if (!tile) continue;
      const point = run.points[images.steps.nearest(run.points, here.step, here.nth)];
      tile.other.textContent = point.step === here.step ? "" : "step " + scope.elements.step(point.step);
      want(card, tile, run, point);
    }
  }

  function fill(card, data) {
    card.runs = data.runs.map((run) => ({ ...run, points: images.steps.points(run) })).filter((run) => run.points.length);
    card.positions = images.steps.positions(card.runs);
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
    picture.addEventListener("click", () => images.large.open(card, run.run));
    element.stepscopeTile = tile;
    lazy.observe(element);
    return tile;
  }

  function want(card, tile, run, point) {
    const wanted = { run: run.run, tag: card.tag, point, sample: sample(card) };
    tile.wanted = wanted;
    tile.card = card;
    if (tile.seen) load(tile);
  }

  async function load(tile) {
    const wanted = tile.wanted;
    const url = images.pictures.url(wanted);
    if (tile.shown === url || tile.loading === url) return;
    tile.loading = url;
    const result = await images.pictures.fetch(wanted, url);
    if (tile.loading !== url) return;
    tile.loading = "";
    tile.shown = url;
    tile.samples = result.info.samples || 1;
    showSamples(tile.card);
    tile.picture.replaceChildren(result.element);
    tile.picture.classList.toggle("failed", !result.image);
    tile.picture.title = result.image ? images.pictures.facts(result.info) + " · click to open large" : "";
    if (result.image) images.pictures.crisp(result.image);
  }

  function showSamples(card) {
    const most = mostSamples(card);
    const box = card.body.querySelector(".samples");
    box.hidden = most < 2;
    box.querySelector(".which").textContent = `sample ${sample(card) + 1} of ${most}`;
  }

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
    images.pictures.crispAll();
  }

  images.cards = { position, move, sample, writeUrl };

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
      images.large.show();
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
