/** Shows on which sides of a box there is more to scroll to. */

/**
 * Keeps `data-more` of a box ("left", "right" or both) in sync with where an element inside it can scroll.
 * How that looks is up to the page's style.
 */
export function signOfScrolling(box: HTMLElement, scroller: HTMLElement): void {
  const update = () => {
    const { scrollLeft, scrollWidth, clientWidth } = scroller;
    const sides = [
      ...(scrollLeft > 1 ? ["left"] : []),
      ...(scrollLeft + clientWidth < scrollWidth - 1 ? ["right"] : []),
    ];
    box.dataset.more = sides.join(" ");
  };
  scroller.addEventListener("scroll", update, { passive: true });
  const sizes = new ResizeObserver(update);
  sizes.observe(scroller);
  for (const child of scroller.children) sizes.observe(child);
  update();
}
