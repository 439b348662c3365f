import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { ApprovalId, CommandId, EffectId, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type {
  Activation,
  PhaseFailure,
  ProgramAnswer,
  ProgramQuestion,
} from '@holdpoint/contracts/program/work';
import type { Entry, ProgramEffect } from '@holdpoint/contracts/program/recording';
import type { ProgramDefinition, ProgramPhase } from '@holdpoint/contracts/program/definition';
import type { ProgramEvent } from '@holdpoint/contracts/program/events';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { TaskPhase } from '@holdpoint/contracts/task/status';
import type { TaskEvidence } from '@holdpoint/contracts/workflow/review';
import type { Outcome } from '@holdpoint/contracts/workflow/workflow';

/** An unanswered question to people. */
export type OpenQuestion = {
  readonly approval: ApprovalId;
  readonly effectId: EffectId;
  readonly effect: CanonicalEffect;
  readonly digest: string;
  readonly about: 'phase' | 'failure';
  readonly asks: ProgramQuestion;
};

/** Status of the current phase. */
export type PhaseStatus =
  /** Not ordered: the task is paused. */
  | 'held'
  | 'ordered'
  /** A worker holds the lease. */
  | 'started'
  /** Waits for its records; no worker holds it. */
  | 'suspended'
  /** People are asked. */
  | 'asked'
  | 'retrying'
  | 'ended';

/** Status of a phase in the view of the task. */
export type PhaseSummary = {
  readonly status: 'open' | 'succeeded' | 'skipped' | 'failed';
  readonly attempt: number;
  readonly output?: Json | undefined;
  readonly error?: ErrorBody;
};

/** The latest request for an effect. One that was not applied may be requested again by a later attempt. */
export type EffectRequestCount = { readonly count: number; readonly visit: number; readonly attempt: number };

/** A task whose workflow is a program. */
export type Program = TaskEvidence & {
  readonly kind: 'program';
  readonly id: TaskId;
  readonly version: number;
  readonly phase: TaskPhase;
  readonly goal: string;
  readonly acceptanceCriteria: readonly string[];
  readonly inputs: JsonObject;
  readonly requestedBy: string;
  /** The agent that submitted the task for the requester. */
  readonly agent?: string;
  readonly contentDigest: string;
  readonly repository?: string;
  readonly submittedAt: number;
  readonly program: ProgramDefinition;
  readonly hash: string;
  /** The state of the program after the last phase. */
  readonly state: JsonObject;
  /** The current phase, its visit number, and the attempt. */
  readonly node: NodeId;
  /** The phase before it. */
  readonly from?: NodeId;
  readonly visit: number;
  readonly attempt: number;
  readonly status: PhaseStatus;
  readonly activation: Activation;
  /** Rises with every order. Requests with a lower lease are refused. */
  readonly lease: number;
  readonly worker?: string;
  /** The last applied end, so that its repeat is no error. */
  readonly done?: { readonly lease: number; readonly worker: string };
  /** Workers lost in this attempt since its last record. */
  readonly losses: number;
  /** Why no worker has claimed the order. */
  readonly waits?: string;
  readonly entries: readonly Entry[];
  readonly asked: Readonly<Record<string, EffectRequestCount>>;
  /** The requested effects, by the keys of those that have not ended. */
  readonly wanted: Readonly<Record<string, ProgramEffect>>;
  readonly suspendedOn?: readonly string[];
  readonly failures: readonly PhaseFailure[];
  /** The last state of `onRetry` in this visit and its attempt: further attempts start from it. */
  readonly retried?: { readonly attempt: number; readonly state: JsonObject };
  readonly question?: OpenQuestion;
  /** The state at the question, and its output. */
  readonly paused?: {
    readonly state: JsonObject;
    readonly output?: Json | undefined;
    readonly asks: ProgramQuestion;
  };
  readonly answer?: ProgramAnswer;
  readonly questions: number;
  /** Counts the ended phases. */
  readonly ended: number;
  readonly seen: Readonly<Record<string, PhaseSummary>>;
  readonly pausedByHand: boolean;
  readonly commands?: readonly CommandId[];
  readonly watchers: readonly TaskId[];
  readonly outcome?: Outcome;
  readonly error?: ErrorBody;
  readonly output?: Json | undefined;
};

export type ProgramState = { readonly phase: 'absent' } | Program;

/** Events of programs, and those that all tasks share. */
export type ProgramTaskEvent =
  | ProgramEvent
  | Extract<
      TaskEvent,
      {
        readonly type:
          | 'completed'
          | 'failed'
          | 'cancelled'
          | 'paused'
          | 'resumed'
          | 'watcher_added'
          | 'review_recorded';
      }
    >;

export const absent: ProgramState = { phase: 'absent' };

export const isProgram = (state: { readonly phase: string; readonly kind?: string }): state is Program =>
  state.kind === 'program';

export const isOver = ({ status }: Pick<Program, 'status'>): boolean => status === 'ended';

export const phaseOf = ({ program }: Pick<Program, 'program'>, node: NodeId): ProgramPhase | undefined =>
  program.phases.find(({ id }) => id === node);

/** The state that the present attempt starts from. */
export const startOfAttempt = ({ retried, state }: Pick<Program, 'retried' | 'state'>): JsonObject =>
  retried?.state ?? state;

type EffectEntry = Extract<Entry, { readonly kind: 'effect' }>;

export const effectsOf = ({ entries }: Pick<Program, 'entries'>): readonly EffectEntry[] =>
  entries.filter((entry) => entry.kind === 'effect');

export const entryOf = ({ entries }: Pick<Program, 'entries'>, key: string): Entry | undefined =>
  entries.find((entry) => entry.key === key);

/** The record key of an effect, from its idempotency key. */
export const effectKey = (idempotencyKey: string): string => `effect:${idempotencyKey}`;

/** Whether a record has ended, so that a suspended phase can continue. */
export const hasEnded = (entry: Entry | undefined): boolean => {
  switch (entry?.kind) {
    case undefined:
      return false;
    case 'step':
    case 'artifact':
    case 'review':
      return true;
    case 'sleep':
      return entry.over === true;
    case 'effect':
      return entry.ended !== undefined;
  }
};
