import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import type { TaskEvent } from '@holdpoint/contracts/task/events';

/** What happened, in the words of whoever waits for it. */
const WORDS: Readonly<Record<TaskEvent['type'], string>> = {
  submitted: 'Submitted',
  ready: 'Ready to start',
  approval_requested: 'Asked for a decision',
  approval_closed: 'Decision',
  effect_ordered: 'Ordered to be carried out',
  node_waiting: 'Waits',
  artifacts_updated: 'Looked for what it needs',
  node_inspected: 'Looked at the repository',
  node_previewed: 'Looked ahead at what it would do',
  node_started: 'Started',
  locks_requested: 'Waits for its turn',
  locks_acquired: 'Has its turn',
  step_ordered: 'Work ordered',
  step_ended: 'Work ended',
  node_succeeded: 'Done',
  node_ended: 'Ended without success',
  restarted: 'Starts anew',
  node_paused: 'Paused',
  node_resumed: 'Goes on',
  watcher_added: 'Another task waits for it',
  peer_ended: 'A task that it waits for has ended',
  node_failed: 'Failed',
  rollback_ordered: 'Going back to the last good state',
  rollback_ended: 'Went back',
  handoff_ordered: 'Goes on in a new session',
  stuck_asked: 'Stuck: asked what is to become of it',
  stuck_answered: 'Answered what is to become of it',
  node_deferred: 'Waits until its target works again',
  node_undeferred: 'Its target works again',
  deferred: 'Waits for a circuit',
  undeferred: 'Goes on',
  budget_extended: 'May use more',
  in_doubt_asked: 'Asked whether it happened',
  in_doubt_answered: 'Answered whether it happened',
  checkpoint: 'Note for whoever goes on with it',
  node_retrying: 'Tries again',
  node_skipped: 'Left out',
  node_blocked: 'Cannot go on',
  node_escalated: 'Given to a person',
  paused: 'Paused',
  resumed: 'Goes on',
  completed: 'Task done',
  failed: 'Task failed',
  cancelled: 'Task cancelled',
  cancelled_before_submission: 'Task cancelled before its submission arrived',
};

export const eventWord = (type: string): string =>
  Object.hasOwn(WORDS, type) ? WORDS[type as TaskEvent['type']] : type.replaceAll('_', ' ');

type Bag = Readonly<Record<string, unknown>>;
const bagOf = (value: unknown): Bag => (typeof value === 'object' && value !== null ? (value as Bag) : {});
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** What an event says beside its name: who, why, what came of it. */
export const eventText = ({ data }: Pick<HistoryEntry, 'data'>): string => {
  const bag: Bag = data;
  const [error, wait, result, verdict] = ['error', 'wait', 'result', 'verdict'].map((name) =>
    bagOf(bag[name]),
  );
  const parts = [
    textOf(bag['outcome']).replaceAll('_', ' '),
    textOf(bag['answer']).replaceAll('_', ' '),
    textOf(wait?.['detail']),
    textOf(result?.['outcome']),
    textOf(result?.['detail']),
    textOf(bag['detail']),
    textOf(bag['reason']),
    textOf(error?.['message']),
    textOf(verdict?.['reason']),
    bag['by'] === undefined ? '' : `by ${textOf(bag['by'])}`,
    bag['comment'] === undefined ? '' : `“${textOf(bag['comment'])}”`,
  ];
  return [...new Set(parts.filter((part) => part !== ''))].join(', ');
};
