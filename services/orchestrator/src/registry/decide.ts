import type { BoardEvent, BoardRequest } from '@holdpoint/contracts/task/registry';
import type { RepositoryId } from '@holdpoint/contracts/values/ids';
import type { Decider, Decision, TimerFired } from '@holdpoint/runtime/decider';
import { decision } from '@holdpoint/runtime/decider';
import { acquire, release, remind } from './acquire.ts';
import { type BoardDraft, createBoardDraft } from './decision-builder.ts';
import { evolve } from './evolve.ts';
import { absent, type BoardState } from './state.ts';
import { forgetExpired, reportArtifacts, requireArtifacts } from './watch.ts';

/**
 * The board of a repository: who holds which lock there, and who makes which artifact.
 *
 * It is one aggregate because its answers are about several tasks at once. Whether all the locks of a job are free, whose
 * turn it is, and whether nobody at all makes an artifact can be said only by one who knows every holder, every waiter and
 * every maker, and only while nothing of that changes. Tasks are aggregates of their own, decided one by one and possibly
 * at the same time, so none of them can. A lock per key would not do either: a job takes all of its locks or none, and two
 * jobs that each get half wait for each other for ever.
 *
 * It is one per repository and not one for all, because repositories share nothing: boards need not take turns.
 *
 * Messages may be lost, doubled and overtaken on the way. So a task asks until it is answered, and is answered each time
 * with what stands; and who holds locks is told so again and again, until who does not need them any more has said so.
 */
export type BoardMessage =
  | { readonly kind: 'registry'; readonly id: RepositoryId; readonly request: BoardRequest }
  | TimerFired;

/** How often holders are reminded. A lock that nobody needs keeps others waiting for about this long. */
const REMIND_MS = 20_000;
const REMINDER = 'held';

const ask = (draft: BoardDraft, request: BoardRequest): void => {
  switch (request.ask) {
    case 'acquire':
      return acquire(draft, request);
    case 'release':
      return release(draft, request);
    case 'report':
      return reportArtifacts(draft, request);
    case 'require':
      return requireArtifacts(draft, request);
  }
};

/** The reminder is there exactly as long as somebody holds something. */
const keepReminder = (draft: BoardDraft, wasSet: boolean): void => {
  const isNeeded = draft.board().held.length > 0;
  if (isNeeded && !wasSet) draft.timer({ set: REMINDER, dueAt: draft.now + REMIND_MS });
  else if (!isNeeded && wasSet) draft.timer({ clear: REMINDER });
};

const decide = (
  state: BoardState,
  message: BoardMessage,
  { now }: { readonly now: number },
): Decision<BoardEvent> => {
  if (message.kind === 'registry') {
    const draft = createBoardDraft(state, message.id, now);
    const wasSet = draft.board().held.length > 0;
    ask(draft, message.request);
    keepReminder(draft, wasSet);
    return draft.done();
  }
  if (state.phase === 'absent' || message.name !== REMINDER) return decision({});
  const draft = createBoardDraft(state, state.id, now);
  forgetExpired(draft);
  remind(draft);
  // A timer that fired is gone.
  keepReminder(draft, false);
  return draft.done();
};

/** The only writer of who holds what in a repository. */
export const boardDecider: Decider<BoardState, BoardMessage, BoardEvent> = {
  initial: absent,
  evolve,
  decide,
};
