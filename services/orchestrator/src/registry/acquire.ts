import type { BoardRequest, Job } from '@holdpoint/contracts/task/registry';
import { jobOf } from '@holdpoint/contracts/values/ids';
import type { BoardDraft } from './decision-builder.ts';
import { behindOf, inserted, isFull, perKey, servable } from './locks.ts';
import { type Board, type Held, isSame, jobIn, type Waiting } from './state.ts';

type Acquire = Extract<BoardRequest, { readonly ask: 'acquire' }>;
type Release = Extract<BoardRequest, { readonly ask: 'release' }>;

const placeOf = ({ held, waiting }: Board, job: Job): Held | Waiting | undefined =>
  held.find((each) => isSame(each, job)) ?? waiting.find((each) => isSame(each, job));

const tell = (draft: BoardDraft, job: Job, held: boolean, behind: readonly string[]): void =>
  draft.inform(job.task, {
    about: 'locks',
    ...jobIn(job),
    repository: draft.board().id,
    held,
    behind: [...behind],
  });

const tellHeld = (draft: BoardDraft, job: Job): void => tell(draft, job, true, []);

/** Gives everybody their locks whom nothing stands in the way of any more. */
const serve = (draft: BoardDraft, waiting: readonly Waiting[]): readonly Waiting[] => {
  const served = servable(draft.board().held, waiting);
  for (const job of served) draft.emit({ type: 'lock_acquired', ...jobIn(job), locks: [...job.locks] });
  return served;
};

/** Serves who waits, the one that comes among them, and gives it a place if it cannot be served yet. */
const enter = (draft: BoardDraft, job: Waiting): void => {
  const full = isFull(draft.board());
  const { waiting } = draft.board();
  const served = serve(draft, full ? waiting : inserted(waiting, job));
  if (!full && !served.includes(job)) {
    draft.emit({ type: 'lock_queued', ...jobIn(job), locks: [...job.locks], since: job.since });
  }
  for (const each of served) if (each !== job) tellHeld(draft, each);
};

export const acquire = (draft: BoardDraft, { since, locks, ...asked }: Acquire): void => {
  const job: Waiting = { ...jobIn(asked), locks: perKey(locks), since };
  const known = placeOf(draft.board(), job);
  if (known === undefined || known.attempt < job.attempt) {
    if (known !== undefined) draft.emit({ type: 'lock_released', ...jobIn(known) });
    enter(draft, job);
  }
  const place = placeOf(draft.board(), job);
  if (place === undefined) tell(draft, job, false, behindOf(draft.board(), job));
  // Too late: the attempt that has followed it has its place.
  else if (place.attempt > job.attempt) tell(draft, job, false, [jobOf(job.task, job.node)]);
  else if ('since' in place) tell(draft, job, false, behindOf(draft.board(), place));
  else tellHeld(draft, job);
};

/** A later attempt's place is not that of the one that is over, whenever its release comes. */
export const release = (draft: BoardDraft, job: Release): void => {
  const known = placeOf(draft.board(), job);
  if (known === undefined || known.attempt > job.attempt) return;
  draft.emit({ type: 'lock_released', ...jobIn(known) });
  for (const each of serve(draft, draft.board().waiting)) tellHeld(draft, each);
};

/**
 * A release may have been lost, or overtaken by the acquire that it was to end: who is told that it holds what it does not
 * need releases it. Who waits asks by itself.
 */
export const remind = (draft: BoardDraft): void => {
  for (const job of draft.board().held) tellHeld(draft, job);
};
