// Layout of pictures placed side by side.

interface Size {
  width: number;
  height: number;
}

const GAP = 16;

/** A grid with about as many columns as rows, each cell large enough for the largest picture. */
export function grid(sizes: readonly Size[]): Size & { places: { x: number; y: number }[] } {
  const across = Math.max(1, Math.round(Math.sqrt(sizes.length)));
  const wide = Math.max(...sizes.map((size) => size.width)) + GAP;
  const high = Math.max(...sizes.map((size) => size.height)) + GAP;
  const places = sizes.map((_, index) => ({ x: (index % across) * wide, y: Math.floor(index / across) * high }));
  return { places, width: across * wide - GAP, height: Math.ceil(sizes.length / across) * high - GAP };
}
