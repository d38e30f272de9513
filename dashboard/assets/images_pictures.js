// The images panel: one picture, fetched, decoded and described.
(function () {
  "use strict";
  const scope = (window.stepscope = window.stepscope || {});
  const images = (scope.images = scope.images || {});
  const { make, icon } = scope.elements;
  const EXTENSIONS = { "image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP", "image/bmp": "BMP" };

  /** @typedef {{run: string, tag: string, point: {index: number, step: number, wall: number}, sample: number}} Wanted */

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

  /** Pixels stay squares where a small picture is enlarged. */
  function crisp(image) {
    image.classList.toggle("crisp", image.clientWidth * devicePixelRatio > image.naturalWidth * 1.5);
  }
  const crispAll = () => document.querySelectorAll(".picture img, #large img").forEach(crisp);
  addEventListener("resize", crispAll);

  images.pictures = { url: imageUrl, fetch: fetchPicture, facts, crisp, crispAll };
})();
