// The text panel: texts of a card, newest first. Their HTML was sanitised by the server (panels/text/rendering.py).
(function () {
  "use strict";
  const scope = (window.stepscope = window.stepscope || {});
  const { make, icon, toClipboard } = scope.elements;
  const FIRST = 3;
  const MORE = 20;
  const MOST_AT_ONCE = 50;

  /**
   * `newest` and `oldest` bound the points that are on the page: oldest <= index < newest.
   * @typedef {{data: object, body: HTMLElement, newest: number, oldest: number, ask: number}} Card
   */
  /** @type {Map<string, Card>} */
  const cards = new Map();

  async function fetchTexts(data, start, stop) {
    const query = new URLSearchParams([
      ["run", data.run], ["tag", data.tag], ["start", String(start)], ["stop", String(stop)], ["markdown", String(data.markdown)],
    ]);
    const answer = await fetch("/api/text/entries?" + query);
    return answer.ok ? answer.json() : [];
  }

  async function copy(data, entry, button) {
    const query = new URLSearchParams([["run", data.run], ["tag", data.tag], ["index", String(entry.index)]]);
    const answer = await fetch("/api/text/raw?" + query);
    if (!answer.ok) return;
    await toClipboard(await answer.text());
    button.classList.add("done");
    button.title = "Copied";
    setTimeout(() => button.classList.remove("done"), 1200);
  }

  function element(data, entry) {
    const button = make("button", { className: "icon-button act-copy", title: "Copy as written" }, icon("copy", 13));
    button.addEventListener("click", () => copy(data, entry, button));
    const head = make(
      "header",
      {},
      make("strong", {}, "step " + scope.elements.step(entry.step)),
      make("span", { className: "dim" }, scope.elements.when(entry.wall)),
      make("span", { className: "notice-inline" }, entry.notice),
      entry.error ? "" : button,
    );
    const content = make("div", { className: "prose" });
    if (entry.error) content.append(make("span", { className: "no-picture" }, icon("alert", 16), make("span", {}, "Damaged: " + entry.error)));
    else content.innerHTML = entry.html;
    return make("article", { className: "entry", "data-index": String(entry.index) }, head, content);
  }

  function moreButton(card) {
    const old = card.body.querySelector(".act-more");
    if (old) old.remove();
    if (card.oldest <= 0) return;
    const label = card.oldest > MORE ? `Show ${MORE} of ${scope.elements.step(card.oldest)} older` : `Show ${card.oldest} older`;
    const button = make("button", { className: "quiet act-more" }, label);
    button.addEventListener("click", async () => {
      button.disabled = true;
      const stop = card.oldest;
      const ask = card.ask;
      const found = await fetchTexts(card.data, Math.max(0, stop - MORE), stop);
      if (card.ask !== ask || card.oldest !== stop) return;
      card.oldest = Math.max(0, stop - MORE);
      button.before(...found.map((entry) => element(card.data, entry)));
      moreButton(card);
    });
    card.body.append(button);
  }

  /** Everything anew. */
  async function fill(card) {
    const { data } = card;
    const ask = (card.ask += 1);
    const oldest = Math.max(0, data.total - FIRST);
    const found = await fetchTexts(data, oldest, data.total);
    if (card.ask !== ask) return;
    card.newest = data.total;
    card.oldest = oldest;
    card.body.replaceChildren(...found.map((entry) => element(data, entry)));
    moreButton(card);
  }

  /** Texts that came since; the reader's place stays. */
  async function prepend(card) {
    const { data } = card;
    if (data.total - card.newest > MOST_AT_ONCE) return fill(card);
    const ask = (card.ask += 1);
    const found = await fetchTexts(data, card.newest, data.total);
    if (card.ask !== ask) return;
    card.newest = data.total;
    const before = card.body.scrollHeight;
    const reading = card.body.scrollTop > 0;
    card.body.prepend(...found.map((entry) => element(data, entry)));
    if (reading) card.body.scrollTop += Math.max(0, card.body.scrollHeight - before);
  }

  function draw(data) {
    const article = scope.cards.find("text", data.key);
    const body = article && article.querySelector(".fill");
    if (!body) return;
    const card = cards.get(data.key);
    if (!card || card.body !== body) {
      const fresh = { data, body, newest: 0, oldest: 0, ask: 0 };
      cards.set(data.key, fresh);
      fill(fresh);
      return;
    }
    const old = card.data;
    if (old === data) return;
    card.data = data;
    const grew = data.total >= old.total && data.superseded === old.superseded && data.markdown === old.markdown;
    if (grew && card.newest > 0) prepend(card);
    else fill(card);
  }

  const clientside = {
    drawTexts(all) {
      for (const data of all) if (data) draw(data);
      return window.dash_clientside.no_update;
    },
  };
  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    stepscope: Object.assign({}, (window.dash_clientside || {}).stepscope, clientside),
  });
})();
