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
import type { Outcome } from '@holdpoint/contracts/workflow/workflow';

/** What is asked of people, and not answered yet. */
export type OpenQuestion = {
  readonly approval: ApprovalId;
  readonly effectId: EffectId;
  readonly effect: CanonicalEffect;
  readonly digest: string;
  readonly about: 'phase' | 'failure';
  readonly asks: ProgramQuestion;
};

/** How the phase stands that the task has come to. */
export type PhaseStatus =
  /** Nothing is ordered: a person keeps the task from going on. */
  | 'held'
  | 'ordered'
  /** A worker holds its lease. */
  | 'started'
  /** It waits for what it has recorded, and nobody holds it. */
  | 'suspended'
  /** People are asked. */
  | 'asked'
  | 'retrying'
  | 'ended';

/** How a phase stands for those who look at the whole task. */
export type PhaseSummary = {
  readonly status: 'open' | 'succeeded' | 'skipped' | 'failed';
  readonly attempt: number;
  readonly output?: Json | undefined;
  readonly error?: ErrorBody;
};

/** When an effect was asked for last: one that did not happen may be asked for again by a later attempt. */
export type EffectRequestCount = { readonly count: number; readonly visit: number; readonly attempt: number };

/** A task whose workflow is a program. */
export type Program = {
  readonly kind: 'program';
  readonly id: TaskId;
  readonly version: number;
  readonly phase: TaskPhase;
  readonly goal: string;
  readonly acceptanceCriteria: readonly string[];
  readonly inputs: JsonObject;
  readonly requestedBy: string;
  /** The agent that has submitted it for him. */
  readonly agent?: string;
  readonly contentDigest: string;
  readonly repository?: string;
  readonly submittedAt: number;
  readonly program: ProgramDefinition;
  readonly hash: string;
  /** The state of the program, as the last phase has left it. */
  readonly state: JsonObject;
  /** The phase that it has come to, the how many-th that is, and which attempt at it. */
  readonly node: NodeId;
  readonly visit: number;
  readonly attempt: number;
  readonly status: PhaseStatus;
  readonly activation: Activation;
  /** Rises with every order: whoever holds a lower one is not heard. */
  readonly lease: number;
  readonly worker?: string;
  /** Whose end was taken last: the same, said again, is no error. */
  readonly done?: { readonly lease: number; readonly worker: string };
  /** Workers that this attempt has lost since it recorded something. */
  readonly losses: number;
  /** Why nobody works on it, as far as is known. */
  readonly waits?: string;
  readonly entries: readonly Entry[];
  readonly asked: Readonly<Record<string, EffectRequestCount>>;
  /** What the tasks of effects are to do, by the keys of those that have not ended. */
  readonly wanted: Readonly<Record<string, ProgramEffect>>;
  readonly suspendedOn?: readonly string[];
  readonly failures: readonly PhaseFailure[];
  /** What the state is for this attempt, as `onRetry` has made it. */
  readonly retried?: JsonObject;
  readonly question?: OpenQuestion;
  /** What the phase had come to when it asked, and what was said. */
  readonly paused?: {
    readonly state: JsonObject;
    readonly output?: Json | undefined;
    readonly asks: ProgramQuestion;
  };
  readonly answer?: ProgramAnswer;
  readonly questions: number;
  /** Phases that have ended. */
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

/** What becomes of it: facts of its own, and those that it shares with every task. */
export type ProgramTaskEvent =
  | ProgramEvent
  | Extract<
      TaskEvent,
      { readonly type: 'completed' | 'failed' | 'cancelled' | 'paused' | 'resumed' | 'watcher_added' }
    >;

export const absent: ProgramState = { phase: 'absent' };

export const isProgram = (state: { readonly phase: string; readonly kind?: string }): state is Program =>
  state.kind === 'program';

export const isOver = ({ status }: Pick<Program, 'status'>): boolean => status === 'ended';

export const phaseOf = ({ program }: Pick<Program, 'program'>, node: NodeId): ProgramPhase | undefined =>
  program.phases.find(({ id }) => id === node);

type EffectEntry = Extract<Entry, { readonly kind: 'effect' }>;

export const effectsOf = ({ entries }: Pick<Program, 'entries'>): readonly EffectEntry[] =>
  entries.filter((entry) => entry.kind === 'effect');

export const entryOf = ({ entries }: Pick<Program, 'entries'>, key: string): Entry | undefined =>
  entries.find((entry) => entry.key === key);

/** The key of an effect, by the one that its author chose. */
export const effectKey = (idempotencyKey: string): string => `effect:${idempotencyKey}`;

/** Whether what was recorded has ended, so that whoever waits for it may go on. */
export const hasEnded = (entry: Entry | undefined): boolean => {
  switch (entry?.kind) {
    case undefined:
      return false;
    case 'step':
    case 'artifact':
      return true;
    case 'sleep':
      return entry.over === true;
    case 'effect':
      return entry.ended !== undefined;
  }
};
