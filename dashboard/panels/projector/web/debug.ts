/** The state of the Projector panel as plain values, for tests and benchmarks. */
import { panel as projectorPanel } from "./panel.ts";
import type { Job } from "./jobs.ts";
import type { ProjectorPanel } from "./panel.ts";

const jobOf = ({ key, frame, updates, losses }: Job) =>
  frame && {
    key,
    state: frame.state,
    phase: frame.phase,
    iteration: frame.iteration,
    total: frame.total,
    loss: frame.loss ?? null,
    message: frame.message ?? "",
    updates,
    losses: losses.length,
    frames: frame.frames ?? null,
    settings: frame.settings ?? null,
    seed: frame.seed ?? null,
  };

const qualityOf = (quality: NonNullable<ProjectorPanel["quality"]>) => {
  const measured = quality.state === "done" ? quality : null;
  return {
    state: quality.state,
    trustworthiness: measured?.trustworthiness ?? null,
    continuity: measured?.continuity ?? null,
    hit: measured?.hit ?? null,
    kept: measured?.kept ?? null,
    sampled: measured?.sampled ?? null,
    message: quality.state === "failed" ? quality.message : "",
  };
};

export const stateOf = (panel: ProjectorPanel) => {
  const { state, dataset, job, picture, quality, nearest, coloring } = panel;
  return {
    id: dataset?.id ?? null,
    step: dataset?.step ?? null,
    steps: dataset?.info.steps ?? [],
    count: dataset?.count ?? 0,
    dimensions: dataset?.info.dimensions ?? 0,
    columns: dataset?.columnInfos.map(({ name }) => name) ?? [],
    problems: dataset?.info.problems ?? [],
    projection: state.projection,
    shown: picture
      ? {
        projection: picture.key,
        dimensions: picture.dimensions,
        points: picture.values.length / picture.dimensions,
        first: Array.from(picture.values.slice(0, picture.dimensions)),
      }
      : null,
    waiting: panel.waiting,
    job: job && jobOf(job),
    quality: quality && qualityOf(quality),
    color: {
      by: panel.colorBy,
      sort: coloring.sort,
      categories: coloring.entries.length,
      minimum: coloring.minimum,
      maximum: coloring.maximum,
      off: [...state.off],
    },
    size: state.size,
    label: panel.labelBy,
    sequence: panel.sequenceBy,
    sprites: state.sprites,
    selection: Array.from(panel.selection),
    focus: panel.focus,
    neighbors: nearest && nearest.row === panel.focus
      ? { rows: [...nearest.rows], distances: [...nearest.distances], metric: nearest.metric, space: nearest.space }
      : null,
    isolated: panel.isolated ? Array.from(panel.isolated) : null,
    hidden: [...panel.hidden].sort((a, b) => a - b),
    visible: dataset ? panel.visibleCount : 0,
    found: panel.found ? panel.found.length : null,
    tool: panel.tools.tool,
    table: { open: state.table, rows: panel.table.count, sort: state.sort },
    bookmarks: panel.bookmarks.kept.map((one) => one.state.label),
    camera: panel.view?.camera() ?? "",
    frames: panel.view?.frames() ?? null,
    embeddings: panel.embeddings.map(({ id }) => id),
    loading: panel.loading > 0 || panel.api.pending > 0,
    requests: panel.api.requests,
    message: panel.message.hidden ? "" : panel.message.textContent,
    status: panel.status.hidden ? "" : panel.status.textContent,
    news: panel.news.hidden ? "" : panel.news.textContent,
    dark: panel.theme.dark,
  };
};
export const debug = () => {
  const panel = projectorPanel();
  return panel && stateOf(panel);
};
