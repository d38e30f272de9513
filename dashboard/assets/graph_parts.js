// @ts-check
/** Small parts that the Graph panel's boxes are made of. */
(() => {
  const root = (window.stepscope = window.stepscope || {});
  const graph = (root.graph = root.graph || {});

  /** @param {string} text @param {string} title @param {(event: MouseEvent) => void} action @param {string} [className] @returns {HTMLButtonElement} */
  function button(text, title, action, className = "") {
    const made = root.elements.make("button", { type: "button", className: `graph-button ${className}`, title }, text);
    if (text.length === 1) made.setAttribute("aria-label", title);
    made.addEventListener("click", action);
    return made;
  }

  /** A head and what stands below it. @param {string} title @param {...(Node | string)} children */
  const section = (title, ...children) => root.elements.make("section", { className: "graph-section" }, root.elements.make("h4", {}, title), ...children);

  /** Names and values. @param {[string, Node | string][]} rows */
  const facts = (rows) => root.elements.make("dl", { className: "graph-facts" }, ...rows.flatMap(([name, value]) => [root.elements.make("dt", {}, name), root.elements.make("dd", {}, value)]));

  /** @param {string} text @param {string} name */
  function saveText(text, name) {
    const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    save(url, name);
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  /** @param {string} href @param {string} name */
  function save(href, name) {
    const link = document.createElement("a");
    link.href = href;
    link.download = name;
    link.click();
  }

  const copy = (/** @type {string} */ text, /** @type {string} */ said) => root.elements.toClipboard(text).then(() => root.frame.say(said));

  graph.parts = { button, section, facts, save, saveText, copy };
})();
