// When clouds of points are painted, for benchmarks/projector.py: in Stepscope's Projector and in TensorBoard's.
(function () {
  "use strict";
  /** Points a cloud must have to count. */
  let least = Infinity;
  /** Times of the frames that painted such a cloud, in milliseconds since the navigation. @type {number[]} */
  let painted = [];
  /** How many points each of these frames had. @type {number[]} */
  let points = [];
  /** When the work for the first of them was done. @type {number | null} */
  let first = null;

  /** @param {number} count */
  const note = (count) => {
    const frame = Number(document.timeline.currentTime);
    if (painted[painted.length - 1] === frame) return;
    painted.push(frame);
    points.push(count);
    if (first !== null) return;
    first = performance.now();
    // A message that was posted in a frame arrives after the page's work for it is done.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      first = performance.now();
      port1.close();
    };
    port2.postMessage(null);
  };

  // Ours puts pixels; of the canvases of a page, only the cloud's counts.
  const put = CanvasRenderingContext2D.prototype.putImageData;
  /** @this {CanvasRenderingContext2D} @param {any[]} what */
  CanvasRenderingContext2D.prototype.putImageData = function (...what) {
    put.apply(this, /** @type {any} */ (what));
    const view = window.stepscope?.projector?.panel?.()?.view;
    if (view?.baseContext === this && view.cloud?.count >= least) note(Math.ceil(view.cloud.count / view.every));
  };

  // TensorBoard draws points with WebGL; what it draws to tell what is under the pointer goes into a framebuffer.
  for (const { prototype } of [WebGLRenderingContext, WebGL2RenderingContext]) {
    const { bindFramebuffer, drawArrays } = prototype;
    const hidden = new WeakSet();
    /** @this {WebGLRenderingContext} @param {number} target @param {WebGLFramebuffer | null} buffer */
    prototype.bindFramebuffer = function (target, buffer) {
      if (buffer) hidden.add(this);
      else hidden.delete(this);
      bindFramebuffer.call(this, target, buffer);
    };
    /** @this {WebGLRenderingContext} @param {number} mode @param {number} start @param {number} count */
    prototype.drawArrays = function (mode, start, count) {
      drawArrays.call(this, mode, start, count);
      if (mode === this.POINTS && count >= least && !hidden.has(this)) note(count);
    };
  }

  window.bench = {
    /** Counts clouds of so many points from now on. @param {number} count */
    watch(count) {
      least = count;
    },
    first: () => first,
    forget() {
      painted = [];
      points = [];
    },
    /** Times and points of the frames since `forget`. */
    seen: () => ({ painted, points }),
    /** Two frames on, so that what was done before is drawn. */
    settled: () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  };
})();
