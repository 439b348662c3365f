import type { ApprovalStatus, Surface } from '@holdpoint/contracts/approval/status';
import type { Choice } from '@holdpoint/contracts/approval/commands';
import type { CircuitState } from '@holdpoint/contracts/recovery/circuit';
import type { FailureClass, VerdictKind } from '@holdpoint/contracts/workflow/failure-class';
import type { EffectClass, SideEffectKind } from '@holdpoint/contracts/workflow/side-effect';
import type { CheckpointKind, JobStatus, TaskPhase } from '@holdpoint/contracts/task/status';

/** Mood of a state: selects a colour; the word carries the meaning. */
export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'quiet';
export type Word = readonly [word: string, tone: Tone];

export const PHASES: Readonly<Record<TaskPhase, Word>> = {
  queued: ['Queued', 'quiet'],
  execution_ready: ['Ready to start', 'quiet'],
  executing: ['Running', 'busy'],
  awaiting_approval: ['Needs a decision', 'warn'],
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
  waiting_on_approval: ['Needs a decision', 'warn'],
  waiting_on_locks: ['Waits for locks', 'quiet'],
  running: ['Running', 'busy'],
  recovering: ['Retrying', 'warn'],
  escalated: ['Stuck: needs a decision', 'bad'],
  paused: ['Paused', 'quiet'],
  succeeded: ['Done', 'good'],
  skipped: ['Skipped', 'quiet'],
  unreached: ['Not needed', 'quiet'],
  failed: ['Failed', 'bad'],
  cancelled: ['Cancelled', 'quiet'],
  blocked_by_dependency: ['Blocked', 'bad'],
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
  write_external: 'External change',
  deploy: 'Deployment',
  merge: 'Merge',
  notify: 'Message',
  destructive_edit: 'Destructive change',
  other: 'Other effect',
  work: 'Work',
};

/** The consequence of an interruption. */
export const INTERRUPTED: Readonly<Record<EffectClass, string>> = {
  fenced: 'safe to repeat: the target applies it once',
  keyed: 'safe to repeat: the target recognizes it',
  probeable: 'the target can tell whether it happened',
  idempotent: 'harmless to repeat',
  opaque: 'not checkable: an interruption asks a person',
};

export const SURFACES: Readonly<Record<Surface, string>> = {
  api: 'the API',
  cli: 'the command line',
  http: 'HTTP',
  web: 'this page',
  websocket: 'a watcher',
  discord: 'Discord',
  webhook: 'a webhook',
  rule: 'a standing rule',
  policy: 'the policy floor',
  clock: 'the deadline',
};

export const CLASSES: Readonly<Record<FailureClass, string>> = {
  BROKEN_BUILD: 'Broken build',
  VERIFICATION_FAILED: 'Check failed',
  CIRCULAR_FIX: 'Going in circles',
  CONTEXT_EXHAUSTED: 'Too much for one session',
  TRANSIENT: 'Temporary failure',
  WORKER_CRASH: 'Worker lost',
  EFFECT_IN_DOUBT: 'Unknown outcome',
  MISCONFIGURED: 'Wrong arguments or settings',
  UNKNOWN: 'Unknown',
};

export const VERDICTS: Readonly<Record<VerdictKind, string>> = {
  retry: 'retried',
  rollback: 'rolled back, then retried',
  skip: 'skipped',
  escalate: 'escalated',
  continue: 'continued in a new session',
};

export const CIRCUITS: Readonly<Record<CircuitState, Word>> = {
  closed: ['Working', 'good'],
  open: ['Open', 'bad'],
  half_open: ['Trial', 'warn'],
};

export const CHECKPOINTS: Readonly<Record<CheckpointKind, string>> = {
  worker_crash_detected: 'A worker was lost',
  duplicate_effect_prevented: 'Duplicate prevented',
  resume_granted: 'Checkpoint',
  resume_blocked: 'Not allowed to continue',
  noted: 'Noted',
  suggestion_refused: 'Suggestion rejected',
};

export const CHOICES: Readonly<Record<Choice, string>> = {
  approve: 'Approve',
  reject: 'Reject',
  request_changes: 'Request changes',
  applied: 'It happened',
  not_applied: 'It did not happen',
  retry: 'Run it again',
  skip: 'Skip',
  done: 'Mark as done',
  cancel: 'Cancel it',
  respond: 'Answered',
};

/** Fallback for values of newer services. */
export const wordFor = (words: Readonly<Record<string, Word>>, name: string): Word =>
  (Object.hasOwn(words, name) ? words[name] : undefined) ?? [name.replaceAll('_', ' '), 'quiet'];

export const textFor = (words: Readonly<Record<string, string>>, name: string): string =>
  (Object.hasOwn(words, name) ? words[name] : undefined) ?? name.replaceAll('_', ' ');
