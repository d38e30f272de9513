/** The visible part of a picture, shared by one or more stages, and how the user moves it. */

const LARGEST = 256;

export interface Size {
  width: number;
  height: number;
}
export interface Place {
  x: number;
  y: number;
}
/** Screen pixels per picture pixel, and the picture's point at the center. */
export interface Look extends Place {
  scale: number;
}
export interface View extends Look {
  /** Whether to show the whole picture, whatever the other values are. */
  fit: boolean;
}
/** Where pictures are drawn. */
export interface Shown {
  canvas: Size;
  /** Size of the largest picture. */
  extent: () => Size;
  empty: () => boolean;
  draw: () => void;
}

export class Viewport {
  readonly stages: Set<Shown> = new Set();
  readonly view: View = { fit: true, scale: 1, x: 0, y: 0 };
  #changed: (view: View) => void;

  constructor(changed: (view: View) => void) {
    this.#changed = changed;
  }

  #fitScale({ canvas, extent }: Shown): number {
    const { width, height } = extent();
    return Math.min(canvas.width / width, canvas.height / height) || 1;
  }

  /** What a stage looks at. */
  of(stage: Shown): Look {
    if (!this.view.fit) return this.view;
    const { width, height } = stage.extent();
    const fitting = this.#fitScale(stage);
    return { scale: fitting >= 1 ? Math.max(Math.floor(fitting * 2) / 2, 1) : fitting, x: width / 2, y: height / 2 };
  }

  /** The picture's top left corner and scale, in screen pixels of the canvas. */
  corner(stage: Shown): { scale: number; left: number; top: number } {
    const { scale, x, y } = this.of(stage);
    const { width, height } = stage.canvas;
    return { scale, left: Math.round(width / 2 - x * scale), top: Math.round(height / 2 - y * scale) };
  }

  set(news: Partial<View>): void {
    Object.assign(this.view, news);
    this.stages.forEach((stage) => stage.draw());
    this.#changed(this.view);
  }

  /** Zooms around (px, py), in screen pixels of a stage: the point of the picture there stays in place. */
  zoom(stage: Shown, factor: number, px: number = stage.canvas.width / 2, py: number = stage.canvas.height / 2): void {
    if (stage.empty()) return;
    const now = this.of(stage);
    const least = Math.min(this.#fitScale(stage) / 4, 0.5);
    const scale = Math.min(Math.max(now.scale * factor, least), LARGEST);
    const x = now.x + (px - stage.canvas.width / 2) * (1 / now.scale - 1 / scale);
    const y = now.y + (py - stage.canvas.height / 2) * (1 / now.scale - 1 / scale);
    this.set({ fit: false, scale, x, y });
  }

  pan(stage: Shown, dx: number, dy: number): void {
    if (stage.empty()) return;
    const { scale, x, y } = this.of(stage);
    this.set({ fit: false, scale, x: x - dx / scale, y: y - dy / scale });
  }
}
