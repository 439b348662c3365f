import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import type { TaskEvent } from '@holdpoint/contracts/task/events';

/** An event in words. */
const WORDS: Readonly<Record<TaskEvent['type'], string>> = {
  submitted: 'Submitted',
  ready: 'Ready to start',
  approval_requested: 'Decision requested',
  approval_closed: 'Decision',
  effect_ordered: 'Effect ordered',
  node_waiting: 'Waits',
  artifacts_updated: 'Inputs checked',
  node_inspected: 'Repository inspected',
  node_previewed: 'Preview created',
  node_started: 'Started',
  locks_requested: 'Waiting for locks',
  locks_acquired: 'Locks acquired',
  step_ordered: 'Work ordered',
  step_ended: 'Work ended',
  node_succeeded: 'Done',
  node_ended: 'Ended without success',
  restarted: 'Restarted',
  node_paused: 'Paused',
  node_resumed: 'Resumed',
  watcher_added: 'Another task waits for this one',
  peer_ended: 'A task that this one waited for has ended',
  node_failed: 'Failed',
  rollback_ordered: 'Rolling back to the last good state',
  rollback_ended: 'Rolled back',
  handoff_ordered: 'Continues in a new session',
  stuck_asked: 'Stuck: decision requested',
  stuck_answered: 'Stuck: decision received',
  node_deferred: 'Waiting for its target',
  node_undeferred: 'Target available again',
  deferred: 'Waiting for a circuit',
  undeferred: 'Resumed',
  budget_extended: 'Budget extended',
  in_doubt_asked: 'Asked whether it happened',
  in_doubt_answered: 'Answered whether it happened',
  checkpoint: 'Checkpoint recorded',
  review_recorded: 'Review recorded',
  node_retrying: 'Retrying',
  node_skipped: 'Skipped',
  node_blocked: 'Blocked',
  node_escalated: 'Escalated',
  paused: 'Paused',
  resumed: 'Resumed',
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

/** The details of an event: who, why and with which result. */
export const eventText = ({ data }: Pick<HistoryEntry, 'data'>): string => {
  const bag: Bag = data;
  const [error, wait, result, verdict, review] = ['error', 'wait', 'result', 'verdict', 'review'].map(
    (name) => bagOf(bag[name]),
  );
  const parts = [
    textOf(bag['outcome']).replaceAll('_', ' '),
    textOf(bag['answer']).replaceAll('_', ' '),
    textOf(wait?.['detail']),
    textOf(result?.['outcome']),
    textOf(result?.['detail']),
    textOf(bag['detail']),
    textOf(bag['reason']),
    textOf(review?.['kind']),
    textOf(review?.['verdict']).replaceAll('_', ' '),
    textOf(review?.['summary']),
    review?.['by'] === undefined ? '' : `by ${textOf(review['by'])}`,
    textOf(error?.['message']),
    textOf(verdict?.['reason']),
    bag['by'] === undefined ? '' : `by ${textOf(bag['by'])}`,
    bag['comment'] === undefined ? '' : `“${textOf(bag['comment'])}”`,
  ];
  return [...new Set(parts.filter((part) => part !== ''))].join(', ');
};
