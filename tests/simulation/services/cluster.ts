import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { CAPABILITIES } from '@holdpoint/contracts/effect/capabilities';
import type { ServiceLogic } from '@holdpoint/runtime/engine/core';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { createApprovalDecider } from '@holdpoint/approvals/approval/decide';
import {
  createKinds,
  type ServiceEvent,
  type ServiceMessage,
  type ServiceWork,
} from '@holdpoint/approvals/aggregates';
import { approvalsBindings } from '@holdpoint/approvals/bindings';
import type { RuleDecider } from '@holdpoint/approvals/rule/decide';
import { allEndedFor } from '@holdpoint/executor/adapters/runner/execute';
import type { Claimants as Desk } from '@holdpoint/executor/adapters/claimants/claimants';
import type { Adoption } from '@holdpoint/executor/adapters/ledger/adoption';
import { createSlots } from '@holdpoint/executor/adapters/slots/slots';
import { createRunner } from '@holdpoint/executor/adapters/runner/runner';
import { createEffectDecider } from '@holdpoint/executor/effect/decide';
import { executorBindings, executorKinds } from '@holdpoint/executor/bindings';
import type { EffectWork } from '@holdpoint/executor/effect/decide';
import type { ToEffect } from '@holdpoint/executor/adapters/runner/runner';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { createTaskDecider } from '@holdpoint/orchestrator/task/decide';
import type { OrchestratorMessage } from '@holdpoint/orchestrator/aggregates';
import { heldEffect } from '@holdpoint/orchestrator/workflows/held-effect';
import { rollback } from '@holdpoint/orchestrator/workflows/rollback';
import { CIRCUIT_TIMER } from '@holdpoint/orchestrator/task/outgoing/outgoing';
import { EMPTY_CONTEXT } from '@holdpoint/orchestrator/submission-context';
import { orchestratorLogic } from '@holdpoint/orchestrator/bindings';
import type { SenderOf } from '@holdpoint/orchestrator/sender';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { attemptsDecider } from '@holdpoint/recovery/attempts/decide';
import { createRecoveryLogic, type RecoveryMessage } from '@holdpoint/recovery/bindings';
import { circuitDecider } from '@holdpoint/recovery/circuit/decide';
import type { Addressed } from '@holdpoint/runtime/engine/kinds';
import { createDesk } from './claims-desk.ts';
import { simulatedCapability } from './capabilities.ts';
import { signGrant, verifyGrant } from './grants.ts';
import { lookForWaiting, simulatedAdoption } from './adoption.ts';
import type { RetentionBug } from './retention.ts';
import { senderOf } from '../users/identities.ts';
import { rulesFor } from '../users/standing-rules.ts';
import { simulatedReceiver } from '../outside/receiver.ts';
import { simulatedLook, simulatedSurface } from '../outside/surface.ts';
import type { Life } from '../process-life.ts';
import {
  addNode,
  createProcess,
  type LogicFor,
  type Node,
  type SimulatedProcess,
  type Tampering,
} from './replica.ts';
import { followWorkflowCircuits } from './workflow-circuits.ts';
import { simulatedWorkflow } from '../workload/submissions.ts';
import type { World } from '../world.ts';

type ExecutorLogic = ServiceLogic<ToEffect, EffectEvent, EffectWork>;

export type Cluster = {
  readonly orchestrator: readonly Node<OrchestratorMessage>[];
  readonly approvals: readonly Node<ServiceMessage>[];
  readonly executor: readonly Node<ToEffect>[];
  readonly recovery: readonly Node<RecoveryMessage>[];
  readonly processes: readonly SimulatedProcess[];
  /** Where claimants ask: one desk for each executor that is up. */
  readonly desks: () => readonly Desk[];
};

type Changed<D> = (decider: D) => D;
type EffectDecider = ReturnType<typeof createEffectDecider>;
type ApprovalDecider = ReturnType<typeof createApprovalDecider>;
type TaskDecider = ReturnType<typeof createTaskDecider>;

/** What a planted bug changes. */
export type Bug = Tampering & {
  readonly retention?: RetentionBug;
  readonly sender?: Changed<SenderOf>;
  readonly task?: Changed<TaskDecider>;
  readonly approval?: Changed<ApprovalDecider>;
  readonly rule?: Changed<RuleDecider>;
  readonly effect?: Changed<EffectDecider>;
  readonly recovery?: Changed<typeof attemptsDecider>;
};

/** Concurrent effects of one executor: few, so that some wait for a slot. */
const SLOTS = 3;

const same = <D>(decider: D): D => decider;

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

const log = silentLogger();

/** The four services with their real deciders and intakes, and the executor with its real runner. */
/** How the services are spread over processes. */
export const FORMS = ['apart', 'core', 'both'] as const;
export type Form = (typeof FORMS)[number];

export const startCluster = (
  world: World,
  replicas: number,
  bug: Bug = {},
  form: Form = 'apart',
  installFirst: (processes: readonly SimulatedProcess[]) => void = () => undefined,
): Cluster => {
  const { weather, away, rollbackRule } = world;
  const tasks = (bug.task ?? same<TaskDecider>)(createTaskDecider([simulatedWorkflow, rollback, heldEffect]));
  const orchestrator = (
    life: Life,
    _crash: () => void,
    engine: Pick<Engine<OrchestratorMessage>, 'accept'>,
  ) => {
    const wake = (task: string): void =>
      engine.accept(
        {
          kind: 'task',
          aggregate: task,
          message: { kind: 'timer', name: CIRCUIT_TIMER, data: { attempt: 0 } },
        },
        { committed: () => undefined, failed: () => undefined, unavailable: () => undefined },
      );
    const context = { ...EMPTY_CONTEXT, openCircuits: followWorkflowCircuits(world, life, wake) };
    return orchestratorLogic(tasks, context, bug.sender?.(senderOf) ?? senderOf);
  };
  const surfaces = ['discord'] as const;
  const options = { surfaces, rollbackRule };
  const kinds = createKinds(
    signGrant,
    options,
    (bug.approval ?? same<ApprovalDecider>)(createApprovalDecider(signGrant, options)),
  );
  const rule = { ...kinds.rule, decider: (bug.rule ?? same<RuleDecider>)(kinds.rule.decider) };
  const approvals = (life: Life): ServiceLogic<ServiceMessage, ServiceEvent, ServiceWork> => ({
    service: 'approvals',
    kinds: { ...kinds, rule },
    ...approvalsBindings({
      rulesFor: rulesFor(world),
      deliver: simulatedSurface(world, life),
      callBack: simulatedReceiver(world, life),
      askOutcome: simulatedLook(world, life),
    }),
  });
  const effects = (bug.effect ?? same<EffectDecider>)(createEffectDecider({ verify: verifyGrant }));

  const desks = new Map<string, { readonly life: Life; readonly desk: Desk }>();
  const adoptions = new Map<string, { readonly life: Life; readonly adoption: Adoption }>();
  lookForWaiting(world, () => adoptions.values());
  const executor = (
    life: Life,
    crash: () => void,
    engine: Pick<Engine<ToEffect>, 'accept'>,
  ): ExecutorLogic => {
    const slots = createSlots({ worker: life.name, journal: life.name }, SLOTS, undefined, {
      of: away.targetOf,
      limitOf: (target) => (away.isAway(target) ? 0 : Infinity),
    });
    away.whenBack((target) => life.enter(() => slots.changed(target)));
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
      slots,
      clock: life.clock,
      journalStart: note,
      allEnded: isOver,
      deferralOf: away.heldBy,
      log,
    });
    const claimants = createDesk(world, life, engine, {
      states: () => world.books.executor.states.values(),
      note,
      others: () => [...desks.values()].filter(({ life: other }) => other !== life && other.isAlive()),
    });
    claimants.open();
    desks.set(life.name, { life, desk: claimants });
    const states = () => world.books.executor.states.values();
    const adoption = simulatedAdoption(world, life, engine, { states, isQueued: runner.isQueued });
    void adoption.endFormerStarts();
    adoption.open();
    adoptions.set(life.name, { life, adoption });
    const bindings = executorBindings({ slots, runner, claimants, pools: [DEFAULT_POOL] });
    return {
      service: 'executor',
      kinds: executorKinds(effects),
      ...bindings,
      perform: reporting(world, bindings.perform),
    };
  };

  const recovery = createRecoveryLogic({
    attempts: (bug.recovery ?? same<typeof attemptsDecider>)(attemptsDecider),
    circuit: circuitDecider,
  });

  const processesOf = (name: string): readonly SimulatedProcess[] =>
    Array.from({ length: replicas }, (_, index) => createProcess(world, `${name}.${String(index + 1)}`));
  const core = form === 'apart' ? undefined : processesOf('core');
  const all: SimulatedProcess[] = [...(core ?? [])];

  const add = <To extends Addressed, Event extends { readonly type: string }, Work>(
    logicFor: LogicFor<To, Event, Work>,
    service: ServiceName,
  ): readonly Node<To>[] => {
    const shared = service === 'executor' ? undefined : core;
    const own = shared === undefined || form === 'both' ? processesOf(service) : [];
    all.push(...own);
    const processes = [...(shared ?? []), ...own];
    return processes.map((process, index) =>
      addNode(world, process, `${service}.${String(index + 1)}`, logicFor, bug),
    );
  };

  const cluster: Cluster = {
    orchestrator: add(orchestrator, 'orchestrator'),
    approvals: add(approvals, 'approvals'),
    executor: add(executor, 'executor'),
    recovery: add(() => recovery, 'recovery'),
    processes: all,
    desks: () =>
      [...desks.values()].flatMap(({ life, desk }) => (life.isAlive() && !life.isFrozen() ? [desk] : [])),
  };
  installFirst(all);
  for (const { start } of all) start();
  return cluster;
};
