import type { RegistryEvent } from '@holdpoint/contracts/task/registry';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RecoveryEvent } from '@holdpoint/contracts/recovery/events';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import {
  createServiceDecider,
  type ServiceEvent,
  type ServiceState,
  isApproval,
} from '@holdpoint/approvals/aggregates';
import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { ApprovalState } from '@holdpoint/approvals/approval/state';
import { createEffectDecider } from '@holdpoint/executor/effect/decide';
import {
  orchestratorDecider,
  type OrchestratorEvent,
  type OrchestratorState,
} from '@holdpoint/orchestrator/orchestrator';
import type { Registry } from '@holdpoint/orchestrator/registry/state';
import type { Task, TaskState } from '@holdpoint/orchestrator/task/model/state';
import { isProgram, type Program, type ProgramTaskEvent, type ProgramState } from '@holdpoint/programs/state';
import { recoveryDecider, type RecoveryState } from '@holdpoint/recovery/attempts/decide';
import type { Decider } from '@holdpoint/runtime/decider';
import type { StoredEvent } from '@holdpoint/runtime/engine/ports';

/** One event with the states before and after it. */
export type Change<State, Event> = {
  readonly aggregate: string;
  readonly version: number;
  /** Commit time by the store's clock. */
  readonly at: number;
  readonly before: State;
  readonly event: Event;
  readonly after: State;
};

/** The states that follow from the stored events, folded independently of the engines that wrote them. */
export type Book<State, Event> = {
  readonly states: ReadonlyMap<string, State>;
  readonly stateOf: (aggregate: string) => State;
  readonly versionOf: (aggregate: string) => number;
  readonly add: (events: readonly StoredEvent[]) => readonly Change<State, Event>[];
};

export type TaskChange = Change<TaskState, TaskEvent>;
export type BoardChange = Change<OrchestratorState, RegistryEvent>;
export type ProgramChange = Change<ProgramState, ProgramTaskEvent>;
export type RecoveryChange = Change<RecoveryState, RecoveryEvent>;

export const isOfTask = (change: Change<OrchestratorState, OrchestratorEvent>): change is TaskChange =>
  change.after.phase !== 'board' && !isProgram(change.after);

export const isOfProgram = (change: Change<OrchestratorState, OrchestratorEvent>): change is ProgramChange =>
  isProgram(change.after);

export type ApprovalChange = Change<ApprovalState, ApprovalEvent>;

export const isOfApproval = (change: Change<ServiceState, ServiceEvent>): change is ApprovalChange =>
  isApproval(change.after);

const createBook = <State, Event>({
  initial,
  evolve,
}: Pick<Decider<State, never, Event>, 'initial' | 'evolve'>): Book<State, Event> => {
  const states = new Map<string, State>();
  const versions = new Map<string, number>();
  const stateOf = (aggregate: string): State => states.get(aggregate) ?? initial;
  return {
    states,
    stateOf,
    versionOf: (aggregate) => versions.get(aggregate) ?? 0,
    add: (events) =>
      events.map(({ aggregate, version, at, body }) => {
        // Read back from its stored form.
        const event = JSON.parse(body) as Event;
        const before = stateOf(aggregate);
        const after = evolve(before, event);
        states.set(aggregate, after);
        versions.set(aggregate, version);
        return { aggregate, version, at, before, event, after };
      }),
  };
};

const nobody = (): never => {
  throw new Error('only folds');
};

export const createBooks = () => ({
  orchestrator: createBook<OrchestratorState, OrchestratorEvent>(orchestratorDecider),
  approvals: createBook<ServiceState, ServiceEvent>(createServiceDecider(nobody)),
  executor: createBook<ReturnType<ReturnType<typeof createEffectDecider>['evolve']>, EffectEvent>(
    createEffectDecider({ verify: nobody }),
  ),
  recovery: createBook<RecoveryState, RecoveryEvent>(recoveryDecider),
});
export type Books = ReturnType<typeof createBooks>;

export const taskIn = ({ orchestrator }: Pick<Books, 'orchestrator'>, id: string): Task | undefined => {
  const state = orchestrator.stateOf(id);
  return 'definition' in state ? state : undefined;
};

export const tasksIn = ({ orchestrator }: Pick<Books, 'orchestrator'>): readonly Task[] =>
  [...orchestrator.states.values()].filter((state): state is Task => 'definition' in state);

export const programIn = ({ orchestrator }: Pick<Books, 'orchestrator'>, id: string): Program | undefined => {
  const state = orchestrator.stateOf(id);
  return isProgram(state) ? state : undefined;
};

export const programsIn = ({ orchestrator }: Pick<Books, 'orchestrator'>): readonly Program[] =>
  [...orchestrator.states.values()].filter((state): state is Program => isProgram(state));

export const boardsIn = ({ orchestrator }: Pick<Books, 'orchestrator'>): readonly Registry[] =>
  [...orchestrator.states.values()].filter((state): state is Registry => state.phase === 'board');

/** The task of an event, for the trace. */
export const taskOf = (event: object, aggregate: string): string =>
  'task' in event && typeof event.task === 'string' ? event.task : aggregate;
