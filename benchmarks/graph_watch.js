// When a graph is drawn, and how long its drawings take, for benchmarks/graph.py: in Stepscope and in TensorBoard.
(function () {
  "use strict";
  const state = () => window.stepscope?.graph?.debug?.() ?? null;

  /** Elements within all shadow trees. @param {string} selector @param {Document | ShadowRoot} root @returns {Element[]} */
  const deep = (selector, root = document) => {
    const found = [...root.querySelectorAll(selector)];
    for (const element of root.querySelectorAll("*")) if (element.shadowRoot) found.push(...deep(selector, element.shadowRoot));
    return found;
  };

  /** Where TensorBoard draws; looked for rarely, so that this does not slow it down. @type {ParentNode | null} */
  let scene = null;
  let lookedAt = -Infinity;
  /** The SVG elements of TensorBoard's nodes. */
  const theirs = () => {
    if (!scene?.querySelector("g.node") && performance.now() - lookedAt > 250) {
      scene = /** @type {ParentNode | null} */ (deep("g.node")[0]?.getRootNode() ?? null);
      lookedAt = performance.now();
    }
    return [...(scene?.querySelectorAll("g.node") ?? [])].filter((node) => node.getBoundingClientRect().width > 0);
  };
  const nodes = () => {
    const ours = state();
    if (!ours) return theirs().length;
    return ours.frames > 0 && !ours.loading ? ours.nodes : 0;
  };

  /**
   * When so many nodes are on the page, in milliseconds since the navigation.
   *
   * A message that was posted in a frame arrives after the page's work for it (scripts, style, layout, paint) is done.
   * @param {number} least @param {number} frames drawn before, which do not count @returns {Promise<number>}
   */
  const drawn = (least, frames = 0) =>
    new Promise((done) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        done(performance.now());
        port1.close();
      };
      const look = () => {
        const ours = state();
        if (nodes() >= least && (!ours || ours.frames > frames)) port2.postMessage(null);
        else requestAnimationFrame(look);
      };
      look();
    });

  window.bench = {
    nodes,
    drawn,
    /** Opens a group by a double click; how long it takes until more nodes are drawn, in milliseconds. @param {string} id @param {number} more */
    async expand(id, more) {
      const least = nodes() + more;
      const ours = state();
      const frames = ours?.frames ?? 0;
      const options = { bubbles: true, cancelable: true, composed: true, view: window };
      let began;
      if (ours) {
        const canvas = document.querySelector("#graph-host canvas");
        const corner = canvas.getBoundingClientRect();
        const box = ours.boxes.find((/** @type {any} */ each) => each.id === id);
        const place = { clientX: corner.left + box.x + box.w / 2, clientY: corner.top + box.y + box.h / 2 };
        began = performance.now();
        canvas.dispatchEvent(new MouseEvent("dblclick", { ...options, ...place }));
      } else {
        const group = theirs().find((node) => node.getAttribute("data-name") === id);
        began = performance.now();
        group.querySelector(".nodeshape").dispatchEvent(new MouseEvent("dblclick", options));
      }
      return (await drawn(least, frames)) - began;
    },
    /** Notes how long every drawing took, until `stop`. */
    record() {
      /** @type {number[]} */
      const seen = [];
      let frames = state().frames;
      let running = true;
      window.bench.stop = () => {
        running = false;
        return seen;
      };
      const look = () => {
        const now = state();
        if (now.frames !== frames) seen.push(now.drawMs);
        frames = now.frames;
        if (running) requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    },
    /** @returns {number[]} milliseconds */
    stop: () => [],
    /** Two frames on, so that what was done before is drawn. */
    settled: () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  };
})();
