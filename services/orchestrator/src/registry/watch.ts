import type { ArtifactStanding, BoardRequest, Job } from '@holdpoint/contracts/task/registry';
import type { BoardDraft } from './decision-builder.ts';
import { portions } from './notify.ts';
import { worthKeeping } from './reports.ts';
import { areMade, changesBetween, pick, type Standings, standingsOf } from './artifact-states.ts';
import { isSame, jobIn, type Watch } from './state.ts';

type Require = Extract<BoardRequest, { readonly ask: 'require' }>;
type Report = Extract<BoardRequest, { readonly ask: 'report' }>;

/** Who still waits asks again long before; who does not is forgotten without having to say so. */
export const WATCH_MS = 15 * 60_000;
export const WATCHES_MAX = 5_000;

/**
 * Of what one decision tells those who watch. It is committed as a whole; many who wait for one large payload would make
 * that too much. Who is not told is told when it asks again.
 */
export const TOLD_MAX_BYTES = 8 * 1024 * 1024;

const tell = (draft: BoardDraft, job: Job, standings: readonly ArtifactStanding[]): number => {
  let told = 0;
  for (const portion of portions(standings)) {
    draft.inform(job.task, { about: 'artifacts', ...jobIn(job), standings: [...portion.standings] });
    told += portion.bytes;
  }
  return told;
};

const forget = (draft: BoardDraft, watch: Watch): void =>
  draft.emit({ type: 'artifact_watch_removed', ...jobIn(watch) });

export const forgetExpired = (draft: BoardDraft): void => {
  for (const watch of draft.board().watches) {
    if (watch.until <= draft.now) forget(draft, watch);
  }
};

const isAsAsked = (watch: Watch, job: Job, labels: readonly string[], now: number): boolean =>
  watch.attempt === job.attempt &&
  watch.until - now >= WATCH_MS / 2 &&
  watch.labels.length === labels.length &&
  labels.every((label) => watch.labels.includes(label));

const watch = (draft: BoardDraft, job: Job, labels: readonly string[]): void => {
  const { watches } = draft.board();
  const known = watches.some((each) => isSame(each, job));
  const [oldest] = watches;
  if (!known && oldest !== undefined && watches.length >= WATCHES_MAX) forget(draft, oldest);
  draft.emit({
    type: 'artifact_watch_added',
    ...jobIn(job),
    labels: [...labels],
    until: draft.now + WATCH_MS,
  });
};

export const requireArtifacts = (draft: BoardDraft, request: Require): void => {
  forgetExpired(draft);
  const labels = [...new Set(request.labels)];
  const standings = pick(standingsOf(draft.board(), labels), labels);
  const known = draft.board().watches.find((each) => isSame(each, request));
  // An earlier attempt is answered and no more: the watch is that of the attempt that has followed it.
  if (known === undefined || known.attempt <= request.attempt) {
    if (!areMade(standings)) {
      if (known === undefined || !isAsAsked(known, request, labels, draft.now)) watch(draft, request, labels);
    } else if (known !== undefined) forget(draft, known);
  }
  tell(draft, request, standings);
};

const tellOfChanges = (draft: BoardDraft, before: Standings): void => {
  const after = standingsOf(draft.board(), before.keys());
  const changed = changesBetween(before, after);
  let told = 0;
  for (const each of draft.board().watches) {
    if (told > TOLD_MAX_BYTES) return;
    if (!each.labels.some((label) => changed.has(label))) continue;
    const standings = pick(after, each.labels);
    if (areMade(standings)) forget(draft, each);
    told += tell(draft, each, standings);
  }
};

export const reportArtifacts = (draft: BoardDraft, { task, serial, artifacts }: Report): void => {
  const known = draft.board().reporters.find((each) => each.task === task)?.serial ?? 0;
  if (serial > known) {
    forgetExpired(draft);
    const watched = draft.board().watches.flatMap(({ labels }) => labels);
    const before = standingsOf(draft.board(), watched);
    const kept = artifacts.map(worthKeeping);
    draft.emit({ type: 'artifacts_reported', task, serial, artifacts: kept, at: draft.now });
    tellOfChanges(draft, before);
  }
  draft.inform(task, { about: 'reported', task, serial: Math.max(serial, known) });
};
