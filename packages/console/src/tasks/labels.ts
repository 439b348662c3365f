import type { ApprovalStatus, Surface } from '@holdpoint/contracts/approval/status';
import type { Choice } from '@holdpoint/contracts/approval/commands';
import type { CircuitState } from '@holdpoint/contracts/recovery/circuit';
import type { FailureClass, VerdictKind } from '@holdpoint/contracts/workflow/failure-class';
import type { EffectClass, SideEffectKind } from '@holdpoint/contracts/workflow/side-effect';
import type { CheckpointKind, JobStatus, TaskPhase } from '@holdpoint/contracts/task/status';

/** How something is to be felt about: it decides a colour, and never says anything that the word does not. */
export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'quiet';
export type Word = readonly [word: string, tone: Tone];

export const PHASES: Readonly<Record<TaskPhase, Word>> = {
  queued: ['Queued', 'quiet'],
  execution_ready: ['Ready to start', 'quiet'],
  executing: ['Running', 'busy'],
  awaiting_approval: ['Waiting for a decision', 'warn'],
  recovering: ['Recovering', 'warn'],
  paused: ['Paused', 'quiet'],
  circuit_open: ['On hold', 'warn'],
  completed: ['Done', 'good'],
  failed: ['Failed', 'bad'],
  cancelled: ['Cancelled', 'quiet'],
};

export const JOBS: Readonly<Record<JobStatus, Word>> = {
  queued: ['Not started', 'quiet'],
  waiting_on_deps: ['Waits for earlier steps', 'quiet'],
  waiting_on_approval: ['Waits for a decision', 'warn'],
  waiting_on_locks: ['Waits for its turn', 'quiet'],
  running: ['Running', 'busy'],
  recovering: ['Trying again', 'warn'],
  escalated: ['Stuck: needs a person', 'bad'],
  paused: ['Paused', 'quiet'],
  succeeded: ['Done', 'good'],
  skipped: ['Left out', 'quiet'],
  unreached: ['Not needed', 'quiet'],
  failed: ['Failed', 'bad'],
  cancelled: ['Cancelled', 'quiet'],
  blocked_by_dependency: ['Cannot go on', 'bad'],
  blocked_by_approval: ['Refused', 'bad'],
};

export const STATUSES: Readonly<Record<ApprovalStatus, Word>> = {
  pending: ['Pending', 'warn'],
  approved: ['Approved', 'good'],
  rejected: ['Rejected', 'bad'],
  changes_requested: ['Changes requested', 'warn'],
  answered: ['Answered', 'good'],
  expired: ['Expired', 'quiet'],
  cancelled: ['Withdrawn', 'quiet'],
};

export const KINDS: Readonly<Record<SideEffectKind | 'work', string>> = {
  write_external: 'Writes outside',
  deploy: 'Deployment',
  merge: 'Merge',
  notify: 'Message',
  destructive_edit: 'Destructive change',
  other: 'Other effect',
  work: 'Work',
};

/** What an interruption would mean, for whoever decides. */
export const INTERRUPTED: Readonly<Record<EffectClass, string>> = {
  fenced: 'safe to repeat: the target takes it only once',
  keyed: 'safe to repeat: the target knows it again',
  probeable: 'the target can be asked whether it happened',
  idempotent: 'harmless to repeat',
  opaque: 'cannot be checked: if it is interrupted, a person is asked',
};

export const SURFACES: Readonly<Record<Surface, string>> = {
  api: 'the API',
  cli: 'the command line',
  http: 'HTTP',
  web: 'this page',
  websocket: 'a watcher',
  discord: 'Discord',
  rule: 'a standing rule',
  clock: 'the deadline',
};

export const CLASSES: Readonly<Record<FailureClass, string>> = {
  BROKEN_BUILD: 'Broken build',
  VERIFICATION_FAILED: 'Check failed',
  CIRCULAR_FIX: 'Going round in circles',
  CONTEXT_EXHAUSTED: 'Too much for one session',
  TRANSIENT: 'Passing trouble',
  WORKER_CRASH: 'Worker lost',
  EFFECT_IN_DOUBT: 'Nobody knows whether it happened',
  UNKNOWN: 'Unknown',
};

export const VERDICTS: Readonly<Record<VerdictKind, string>> = {
  retry: 'tried again',
  rollback: 'taken back, then tried again',
  skip: 'left out',
  escalate: 'given to a person',
  continue: 'went on in a new session',
};

export const CIRCUITS: Readonly<Record<CircuitState, Word>> = {
  closed: ['Working', 'good'],
  open: ['Cut off', 'bad'],
  half_open: ['Being tried', 'warn'],
};

export const CHECKPOINTS: Readonly<Record<CheckpointKind, string>> = {
  worker_crash_detected: 'A worker was lost',
  duplicate_effect_prevented: 'Kept from happening twice',
  resume_granted: 'Went on from here',
  resume_blocked: 'Not allowed to go on',
  noted: 'Noted',
  suggestion_refused: 'A suggestion was not followed',
};

export const CHOICES: Readonly<Record<Choice, string>> = {
  approve: 'Approve',
  reject: 'Reject',
  request_changes: 'Request changes',
  applied: 'It happened',
  not_applied: 'It did not happen',
  retry: 'Do it once more',
  skip: 'Leave it out',
  done: 'It is done',
  cancel: 'Give it up',
  respond: 'Answered',
};

/** The word for something that a newer service may say and this page does not know. */
export const wordFor = (words: Readonly<Record<string, Word>>, name: string): Word =>
  (Object.hasOwn(words, name) ? words[name] : undefined) ?? [name.replaceAll('_', ' '), 'quiet'];

export const textFor = (words: Readonly<Record<string, string>>, name: string): string =>
  (Object.hasOwn(words, name) ? words[name] : undefined) ?? name.replaceAll('_', ' ');
