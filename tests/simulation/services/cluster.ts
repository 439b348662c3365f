import { CAPABILITIES } from '@holdpoint/contracts/effect/capabilities';
import type { ServiceLogic } from '@holdpoint/runtime/engine/core';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { createApprovalDecider } from '@holdpoint/approvals/approval/decide';
import { createServiceDecider, type ServiceDecider } from '@holdpoint/approvals/aggregates';
import { approvalsLogic } from '@holdpoint/approvals/bindings';
import { allEndedFor } from '@holdpoint/executor/adapters/runner/execute';
import { createSlots } from '@holdpoint/executor/adapters/slots/slots';
import { createRunner } from '@holdpoint/executor/adapters/runner/runner';
import { createEffectDecider } from '@holdpoint/executor/effect/decide';
import { executorLogic } from '@holdpoint/executor/logic';
import { createTaskDecider } from '@holdpoint/orchestrator/task/decide';
import type { createOrchestratorDecider } from '@holdpoint/orchestrator/orchestrator';
import { rollback } from '@holdpoint/orchestrator/workflows/rollback';
import { CIRCUIT_TIMER } from '@holdpoint/orchestrator/task/outgoing/outgoing';
import { NOTHING_KNOWN } from '@holdpoint/orchestrator/submission-context';
import { orchestratorLogic } from '@holdpoint/orchestrator/bindings';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { recoveryDecider } from '@holdpoint/recovery/attempts/decide';
import { createRecoveryLogic } from '@holdpoint/recovery/bindings';
import { simulatedCapability } from './capabilities.ts';
import { signGrant, verifyGrant } from './grants.ts';
import type { RetentionBug } from './retention.ts';
import { rulesFor } from '../users/standing-rules.ts';
import { simulatedLook, simulatedSurface } from '../outside/surface.ts';
import type { Life } from '../process-life.ts';
import { type LogicFor, type Node, startNode, type Tampering } from './replica.ts';
import { followWorkflowCircuits } from './workflow-circuits.ts';
import { simulatedWorkflow } from '../workload/submissions.ts';
import type { World } from '../world.ts';

type ExecutorLogic = ReturnType<typeof executorLogic>;
type MessageOf<Logic> =
  Logic extends ServiceLogic<infer _S, infer Message, infer _E, infer _W> ? Message : never;
export type TaskMessage = MessageOf<ReturnType<typeof orchestratorLogic>>;
export type ApprovalMessage = MessageOf<ReturnType<typeof approvalsLogic>>;

export type Cluster = {
  readonly orchestrator: readonly Node<TaskMessage>[];
  readonly approvals: readonly Node<ApprovalMessage>[];
  readonly executor: readonly Node<MessageOf<ExecutorLogic>>[];
  readonly recovery: readonly Node<MessageOf<ReturnType<typeof createRecoveryLogic>>>[];
};

type Changed<D> = (decider: D) => D;
type EffectDecider = ReturnType<typeof createEffectDecider>;
type ApprovalDecider = ReturnType<typeof createApprovalDecider>;
type TaskDecider = ReturnType<typeof createTaskDecider>;
type OrchestratorDecider = ReturnType<typeof createOrchestratorDecider>;

/** What a planted bug changes. */
export type Bug = Tampering & {
  readonly retention?: RetentionBug;
  readonly task?: Changed<TaskDecider>;
  readonly orchestrator?: Changed<OrchestratorDecider>;
  readonly approval?: Changed<ApprovalDecider>;
  /** Approvals and standing rules. */
  readonly desk?: Changed<ServiceDecider>;
  readonly effect?: Changed<EffectDecider>;
  readonly recovery?: Changed<typeof recoveryDecider>;
};

/** Concurrent effects of one executor: few, so that some wait for a slot. */
const PLACES = 3;

const same = <D>(decider: D): D => decider;

type OrchestratorLogic = ReturnType<typeof orchestratorLogic>;

const withBug = (logic: OrchestratorLogic, { orchestrator }: Bug): OrchestratorLogic =>
  orchestrator === undefined
    ? logic
    : { ...logic, kind: { ...logic.kind, decider: orchestrator(logic.kind.decider) } };

/** Records every outcome that a runner reports: the ledger may contain nothing else. */
const reporting =
  ({ reports }: World, perform: ExecutorLogic['perform']): NonNullable<ExecutorLogic['perform']> =>
  (work, accept) =>
    perform?.(work, (routed) => {
      const { aggregate, message } = routed;
      if (message.kind === 'outcome')
        reports.set(`${aggregate} ${String(message.epoch)}`, message.outcome.kind);
      accept(routed);
    });

/** The four services with their real deciders and intakes, and the executor with its real runner. */
const log = silentLogger();

export const startCluster = (world: World, replicas: number, bug: Bug = {}): Cluster => {
  const { weather, away, rollbackRule } = world;
  const tasks = (bug.task ?? same<TaskDecider>)(createTaskDecider([simulatedWorkflow, rollback]));
  const orchestrator = (life: Life, _crash: () => void, accept: (task: string, m: TaskMessage) => void) => {
    const wake = (task: string): void =>
      accept(task, { kind: 'timer', name: CIRCUIT_TIMER, data: { ask: 0 } });
    return withBug(
      orchestratorLogic(tasks, { ...NOTHING_KNOWN, open: followWorkflowCircuits(world, life, wake) }),
      bug,
    );
  };
  const surfaces = ['discord'] as const;
  const desk = createServiceDecider(
    signGrant,
    { surfaces, rollbackRule },
    (bug.approval ?? same<ApprovalDecider>)(createApprovalDecider(signGrant, { surfaces, rollbackRule })),
  );
  const withDesk = bug.desk ?? same<ServiceDecider>;
  const approvals = (life: Life) =>
    approvalsLogic({
      decider: withDesk(desk),
      rulesFor: rulesFor(world),
      deliver: simulatedSurface(world, life),
      askOutcome: simulatedLook(world, life),
    });
  const effects = (bug.effect ?? same<EffectDecider>)(createEffectDecider({ verify: verifyGrant }));

  const executor = (life: Life, crash: () => void): ExecutorLogic => {
    const places = createSlots({ worker: life.name, journal: life.name }, PLACES, undefined, {
      of: away.targetOf,
      limitOf: (target) => (away.isAway(target) ? 0 : Infinity),
    });
    away.whenBack((target) => life.enter(() => places.changed(target)));
    const capabilities = new Map(
      Object.keys(CAPABILITIES).map((uses) => [uses, simulatedCapability(uses, life, crash, world)]),
    );
    // The journal takes time. Its loss has tests of its own.
    const note = ({ id }: { readonly id: string }): Promise<void> =>
      new Promise((resolve) => void life.clock.after(weather.latency(`${life.name} notes ${id}`), resolve));
    // A process name is reused only after its process and all its children are gone.
    const isOver = allEndedFor((journal) => journal === life.name);
    const runner = createRunner({
      capabilities,
      slots: places,
      clock: life.clock,
      journalStart: note,
      allEnded: isOver,
      deferralOf: away.heldBy,
      log,
    });
    const logic = executorLogic({ decider: effects, places, runner, pools: [DEFAULT_POOL] });
    return { ...logic, perform: reporting(world, logic.perform) };
  };

  const recovery = createRecoveryLogic((bug.recovery ?? same<typeof recoveryDecider>)(recoveryDecider));

  const start = <State, Message, Event extends { readonly type: string }, Work>(
    logicFor: LogicFor<State, Message, Event, Work>,
    service: string,
  ): readonly Node<Message>[] =>
    Array.from({ length: replicas }, (_, index) =>
      startNode(world, `${service}.${String(index + 1)}`, logicFor, bug),
    );

  return {
    orchestrator: start(orchestrator, 'orchestrator'),
    approvals: start(approvals, 'approvals'),
    executor: start(executor, 'executor'),
    recovery: start(() => recovery, 'recovery'),
  };
};
