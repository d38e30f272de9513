/** Which nodes are expanded or set aside in the Graph panel, and its undo history. */
import { canExpand, type GraphNode } from "./scene.ts";
import { openedInAddress, PanelBase } from "./panel_base.ts";

const GESTURE_GAP_MS = 500;
const MOST_UNDO = 100;

export abstract class PanelWithStructure extends PanelBase {
  /** Whether a group is open, or will be in the scene that is loading. */
  isOpen(node: GraphNode) {
    return this.loading ? this.state.expanded.includes(node.id) : Boolean(this.shown.byId.get(node.id)?.expanded);
  }

  toggle(node: GraphNode): Promise<boolean> {
    if (!canExpand(node)) return Promise.resolve(false);
    this.remember(true);
    const inside = (id: string) => {
      for (let at = this.shown.byId.get(id) ?? null; at; at = at.parent) if (at.id === node.id) return true;
      return false;
    };
    const { state } = this;
    state.expanded = this.isOpen(node)
      ? state.expanded.filter((id) => !inside(id))
      : [...state.expanded.filter((id) => id !== node.id), node.id];
    return this.reload(node.id);
  }

  toggleSelected() {
    const node = this.selected;
    return node && canExpand(node) ? void this.toggle(node) : false;
  }

  /** Opens the closed groups on the top level that has any, in the selection or the graph: one more level each time. */
  async expandChildren() {
    const { id: graphId } = this.state;
    const [id] = this.selection;
    // A level requested earlier becomes known only with its scene.
    for (let seen; seen !== this.pending;) await (seen = this.pending);
    if (!this.scene || graphId !== this.state.id) return;
    const node = id ? this.scene.standsFor(id) : null;
    if (node && !node.expanded) return this.toggle(node);
    const closedOf = (level: readonly GraphNode[]) => level.filter((child) => canExpand(child) && !child.expanded);
    let level = node ? node.children : this.scene.roots;
    while (level.length && !closedOf(level).length) level = level.flatMap((child) => child.children);
    const closed = closedOf(level);
    if (!closed.length) return this.notify("There is nothing in it to expand.", "info");
    this.remember(true);
    this.state.expanded = [...this.state.expanded, ...closed.map((child) => child.id)];
    return this.reload(node?.id ?? this.middle()?.id ?? null);
  }

  /** The node drawn closest to the center of the view. */
  middle() {
    const { view } = this;
    const far = (node: GraphNode) => Math.hypot(node.x + node.w / 2 - view.x, node.y + node.h / 2 - view.y);
    return this.shown.within(view.visible).leaves.reduce<GraphNode | null>(
      (best, node) => (!best || far(node) < far(best) ? node : best),
      null,
    );
  }

  /** Closes the selection, or the group that contains it. */
  collapseSelected() {
    let group = this.selected;
    while (group && !this.isOpen(group)) group = group.parent;
    if (!group) return false;
    this.select([group.id]);
    void this.toggle(group);
    return true;
  }

  collapseAll() {
    this.remember(true);
    this.state.expanded = [];
    return this.load({}).then((isShown) => {
      if (!isShown) return;
      this.tellStructure();
      this.fit(false);
    });
  }

  reload(anchor: string | null) {
    this.tellStructure();
    return this.load({ anchor });
  }

  tellStructure() {
    const { expanded, aside, back } = this.state;
    this.tell({ "graph.expanded": [...openedInAddress(expanded)], "graph.aside": aside, "graph.back": back });
  }

  isAside(id: string) {
    return Boolean(this.scene?.aside.some((row) => row.id === id));
  }

  setAsideSelected() {
    const [id] = this.selection;
    if (!id) return false;
    if (this.isAside(id)) return void this.bringBack(id);
    const { state } = this;
    this.remember(true);
    if (state.back.includes(id)) state.back = state.back.filter((one) => one !== id);
    else state.aside = [...state.aside.filter((one) => one !== id), id];
    return void this.reload(null);
  }

  async bringBack(id: string) {
    const { state } = this;
    this.remember(true);
    if (state.aside.includes(id)) state.aside = state.aside.filter((one) => one !== id);
    else state.back = [...state.back.filter((one) => one !== id), id];
    const turn = (this.turn += 1);
    if ((await this.reload(null)) && turn === this.turn) await this.goTo(id);
  }

  // ---- undo

  /** Saves the current state for undo, once per gesture. */
  remember(always: boolean = false) {
    const now = performance.now();
    if (always || now - this.lastGesture > GESTURE_GAP_MS) {
      const { expanded, aside, back } = this.state;
      this.history.push({ place: this.view.target, expanded, aside, back, selection: this.selection });
      if (this.history.length > MOST_UNDO) this.history.shift();
    }
    this.lastGesture = always ? -Infinity : now;
  }

  undo() {
    const last = this.history.pop();
    this.lastGesture = -Infinity;
    if (!last) return;
    const { place, expanded, aside, back } = last;
    const same = [[expanded, this.state.expanded], [aside, this.state.aside], [back, this.state.back]].every((
      [one, other],
    ) => one === other);
    if (same) return this.view.go(place);
    Object.assign(this.state, { expanded, aside, back });
    this.tellStructure();
    this.load({ place });
  }
}
