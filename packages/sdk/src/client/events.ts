import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { Json } from '@holdpoint/contracts/values/json';
import type { PhaseFailure, ProgramAnswer, ProgramQuestion } from '@holdpoint/contracts/program/work';
import type { Frozen } from '../definition/frozen.ts';
import { clientEventOf, type ClientEvent } from './client-event.ts';

type EventTime = {
  /** The version in the task's history. Gaps belong to events that are not shown here. */
  readonly version: number;
  /** Epoch milliseconds of the store's clock. */
  readonly at: number;
};
type NamedEvent<Name extends string, More> = { readonly name: Name } & EventTime & More;
type InPhase = { readonly phase: string; readonly visit: number; readonly attempt: number };

/** The events of a task, as clients see them. */
export type WorkflowEvent<State = unknown> =
  | NamedEvent<'phase:started', InPhase & { readonly worker: string }>
  | NamedEvent<
      'phase:completed',
      InPhase & {
        readonly state: Frozen<State>;
        readonly output: Json | undefined;
        readonly next: string | undefined;
      }
    >
  | NamedEvent<'phase:skipped', InPhase & { readonly next: string; readonly reason: string }>
  | NamedEvent<'phase:failed', InPhase & { readonly stage: PhaseFailure['stage']; readonly error: ErrorBody }>
  | NamedEvent<'phase:retrying', InPhase & { readonly delayMs: number; readonly by: string | undefined }>
  | NamedEvent<
      'input:requested',
      InPhase & {
        readonly approval: string;
        readonly question: ProgramQuestion;
        /** `phase`: a question of the phase. `failure`: whether to retry. */
        readonly about: 'phase' | 'failure';
      }
    >
  | NamedEvent<'input:received', InPhase & ProgramAnswer & { readonly approval: string }>
  | NamedEvent<
      'state:checkpoint',
      { readonly phase: string; readonly digest: string; readonly reason: string }
    >
  | NamedEvent<'workflow:completed', object>
  | NamedEvent<'workflow:failed', { readonly error: ErrorBody }>
  | NamedEvent<'workflow:cancelled', { readonly by: string; readonly reason: string }>;

const phaseIn = ({ node, visit, attempt }: { node: string; visit: number; attempt: number }): InPhase => ({
  phase: node,
  visit,
  attempt,
});

const eventFor = (fact: ClientEvent, at: EventTime): WorkflowEvent<object> | undefined => {
  switch (fact.type) {
    case 'phase_started':
      return { name: 'phase:started', ...at, ...phaseIn(fact), worker: fact.worker };
    case 'phase_completed': {
      const { state, output, next } = fact;
      return { name: 'phase:completed', ...at, ...phaseIn(fact), state, output, next };
    }
    case 'phase_skipped':
      return { name: 'phase:skipped', ...at, ...phaseIn(fact), next: fact.next, reason: fact.reason };
    case 'phase_failed':
      return { name: 'phase:failed', ...at, ...phaseIn(fact), stage: fact.stage, error: fact.error };
    case 'phase_retrying':
      return { name: 'phase:retrying', ...at, ...phaseIn(fact), delayMs: fact.delayMs, by: fact.by };
    case 'input_requested': {
      const { approval, asks: question, about } = fact;
      return { name: 'input:requested', ...at, ...phaseIn(fact), approval, question, about };
    }
    case 'input_received':
      return { name: 'input:received', ...at, ...phaseIn(fact), ...fact.answer, approval: fact.approval };
    case 'state_checkpoint':
      return { name: 'state:checkpoint', ...at, phase: fact.node, digest: fact.digest, reason: fact.reason };
    case 'completed':
      return { name: 'workflow:completed', ...at };
    case 'failed':
      return { name: 'workflow:failed', ...at, error: fact.error };
    case 'cancelled':
      return { name: 'workflow:cancelled', ...at, by: fact.by, reason: fact.reason };
    case 'program_submitted':
    case 'phase_ordered':
    case 'phase_waiting':
    case 'phase_recorded':
    case 'phase_entry_completed':
    case 'phase_suspended':
    case 'phase_returned':
    case 'phase_retry_prepared':
      return undefined;
  }
};

/** The client's form of a recorded event; undefined for internal events. */
export const eventIn = <State>(entry: HistoryEntry): WorkflowEvent<State> | undefined => {
  const fact = clientEventOf(entry);
  const { version, at } = entry;
  return fact && (eventFor(fact, { version, at }) as WorkflowEvent<State> | undefined);
};

/** Whether the event is the last one of its task. */
export const isEnd = ({ name }: WorkflowEvent): boolean => name.startsWith('workflow:');
