import type { RegistryEvent } from '@holdpoint/contracts/task/registry';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RecoveryEvent } from '@holdpoint/contracts/recovery/events';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { createKinds, type ServiceEvent } from '@holdpoint/approvals/aggregates';
import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { ApprovalState } from '@holdpoint/approvals/approval/state';
import type { Rule } from '@holdpoint/approvals/rule/state';
import { executorKinds } from '@holdpoint/executor/bindings';
import { createEffectDecider } from '@holdpoint/executor/effect/decide';
import type { EffectState } from '@holdpoint/executor/effect/state';
import { type OrchestratorEvent, orchestratorKinds } from '@holdpoint/orchestrator/aggregates';
import type { Registry, RegistryState } from '@holdpoint/orchestrator/registry/state';
import type { Task, TaskState } from '@holdpoint/orchestrator/task/model/state';
import { isProgram, type Program, type ProgramTaskEvent, type ProgramState } from '@holdpoint/programs/state';
import { EMPTY_HISTORY, type History } from '@holdpoint/recovery/attempts/history';
import { recoveryLogic } from '@holdpoint/recovery/bindings';
import type { Circuit } from '@holdpoint/recovery/circuit/state';
import { type Addressed, type Kinds, kindNamed } from '@holdpoint/runtime/engine/kinds';
import type { BatchWrite, ListRow, Summary } from '@holdpoint/runtime/engine/ports';
import { complete } from '@holdpoint/runtime/engine/shared-content';

type AnyEvent = { readonly type: string };

/** One event with the states before and after it. */
export type Change<State, Event> = {
  readonly kind: string;
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
  /** The kind that the aggregate was created as; undefined when it does not exist. */
  readonly kindOf: (aggregate: string) => string | undefined;
  /** The read-model row that follows from the state. */
  readonly summaryOf: (aggregate: string) => Summary;
  /** The rows of lists that follow from the state. */
  readonly rowsOf: (aggregate: string) => readonly ListRow[];
  readonly add: (write: Pick<BatchWrite, 'events' | 'shared'>) => readonly Change<State, Event>[];
};

export type TaskChange = Change<TaskState, TaskEvent>;
export type BoardChange = Change<RegistryState, RegistryEvent>;
export type ProgramChange = Change<ProgramState, ProgramTaskEvent>;
export type RecoveryChange = Change<RecoveryState, RecoveryEvent>;
export type ApprovalChange = Change<ApprovalState, ApprovalEvent>;

type OrchestratorState = TaskState | ProgramState | RegistryState;
export type OrchestratorChange = Change<OrchestratorState, OrchestratorEvent>;
type RecoveryState = History | Circuit | undefined;

export const isOfTask = (change: OrchestratorChange): change is TaskChange => change.kind === 'task';

export const isOfProgram = (change: OrchestratorChange): change is ProgramChange => change.kind === 'program';

export const isOfApproval = (
  change: Change<ApprovalState | Rule | undefined, ServiceEvent>,
): change is ApprovalChange => change.kind === 'approval';

export const isCircuit = (state: RecoveryState): state is Circuit =>
  state !== undefined && !('attempts' in state);

/** `initial` is the state of an aggregate that does not exist. */
const createBook = <State, Event extends AnyEvent>(all: object, initial: State): Book<State, Event> => {
  const kinds = all as Kinds<AnyEvent, unknown>;
  const states = new Map<string, State>();
  const kindsOf = new Map<string, string>();
  const versions = new Map<string, number>();
  const contents = new Map<string, unknown>();
  const stateOf = (aggregate: string): State => states.get(aggregate) ?? initial;
  return {
    states,
    stateOf,
    versionOf: (aggregate) => versions.get(aggregate) ?? 0,
    kindOf: (aggregate) => kindsOf.get(aggregate),
    summaryOf: (aggregate) => kindNamed(kinds, kindsOf.get(aggregate) ?? '').summarise(states.get(aggregate)),
    rowsOf: (aggregate) => {
      const { listing } = kindNamed(kinds, kindsOf.get(aggregate) ?? '');
      const state = states.get(aggregate);
      return listing?.reasonOf(state) === undefined ? [] : listing.rowsOf(aggregate, state);
    },
    add: ({ events, shared = [] }) => {
      for (const { digest, body } of shared) contents.set(digest, JSON.parse(body) as unknown);
      return events.map(({ kind, aggregate, version, at, body }) => {
        // Read back from its stored form. The proof of its cause is no part of a state.
        const stored = complete(JSON.parse(body) as object, contents) as Event & {
          readonly sealKey?: string;
        };
        const { sealKey: _, ...read } = stored;
        const event = read as unknown as Event;
        const { decider } = kindNamed(kinds, kind);
        const before = (states.has(aggregate) ? states.get(aggregate) : decider.initial) as State;
        const after = decider.evolve(before, event) as State;
        states.set(aggregate, after);
        kindsOf.set(aggregate, kind);
        versions.set(aggregate, version);
        return { kind, aggregate, version, at, before, event, after };
      });
    },
  };
};

/** The events that a message leads to on the stored state. */
export const decideAgain = (
  book: Pick<Book<unknown, AnyEvent>, 'states' | 'kindOf'>,
  all: object,
  { kind, aggregate, message }: Addressed,
  now: number,
): readonly AnyEvent[] => {
  const { decider } = kindNamed(all as Kinds<AnyEvent, unknown>, book.kindOf(aggregate) ?? kind);
  const state = book.states.has(aggregate) ? book.states.get(aggregate) : decider.initial;
  return decider.decide(state, message, { now }).events;
};

const unused = (): never => {
  throw new Error('books fold events and decide nothing');
};

const approvalKinds = createKinds(unused);
const effects = createEffectDecider({ verify: unused });

export const createBooks = () => ({
  orchestrator: createBook<OrchestratorState, OrchestratorEvent>(orchestratorKinds(), { phase: 'absent' }),
  approvals: createBook<ApprovalState | Rule, ServiceEvent>(
    approvalKinds,
    approvalKinds.approval.decider.initial,
  ),
  executor: createBook<EffectState, EffectEvent>(executorKinds(effects), effects.initial),
  recovery: createBook<RecoveryState, RecoveryEvent>(recoveryLogic.kinds, EMPTY_HISTORY),
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
