import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { digestOf } from '@holdpoint/contracts/values/json';
import type { ClaimedPhase, PhaseEnd, WorkInput, WorkOrder } from '@holdpoint/contracts/program/work';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { AnyPhase } from '../definition/phase.ts';
import type { Workflow } from '../definition/workflow.ts';
import { PhaseAborted } from './session/abort.ts';
import { createActivity } from './context/activity.ts';
import { failureOf } from './phases/failure.ts';
import { createLifetime } from './session/lifetime.ts';
import type { WorkerLine, WorkerLog, WorkPort } from './session/port.ts';
import type { PhaseRun } from './phases/phase-run.ts';
import { createRecords } from './context/records.ts';
import { failedEnd, runPhase } from './phases/run-phase.ts';
import { createSession } from './session/session.ts';
import { createStateHolder } from './context/state.ts';
import { createStopwatch } from './session/stopwatch.ts';

export type ActivationParts = {
  readonly workflow: Workflow;
  readonly order: WorkOrder;
  readonly port: WorkPort;
  readonly clock: Clock;
  /** The unique name of the worker. */
  readonly worker: string;
  /** A phase that only waits for this long is handed back. News for it brings a new order. Milliseconds. */
  readonly parkMs: number;
  readonly log: WorkerLog;
  /** The bus need not deliver the order again. */
  readonly acknowledge: () => void;
};

/** An order in progress. */
export type RunningActivation = {
  /** Resolves at the end, however it ends; never rejects. */
  readonly done: Promise<void>;
  /** Lets another worker continue the phase. */
  readonly giveBack: (reason: string) => void;
  /** Whether the phase only waits for recorded effects or sleeps. */
  readonly isWaiting: () => boolean;
};

const isSamePhase = (order: WorkOrder, real: ClaimedPhase): boolean =>
  order.node === real.node &&
  order.visit === real.visit &&
  order.attempt === real.attempt &&
  order.activation === real.activation;

const WORK_MS = 15 * 60_000;

const timeoutOf = (phase: AnyPhase): number =>
  phase.type === 'terminal' ? WORK_MS : (phase.spec.timeoutMs ?? WORK_MS);

/** Starts an order. Workers on the bus and in memory share this code. */
export const startActivation = (parts: ActivationParts): RunningActivation => {
  const { workflow, order, port, clock, worker, parkMs, acknowledge } = parts;
  const { task, node, lease, attempt } = order;
  const life = createLifetime();
  let isWaiting = false;
  let drop: (reason: PhaseAborted) => void = () => undefined;
  const dropped = new Promise<PhaseAborted>((resolve) => (drop = resolve));

  const log = (line: Pick<WorkerLine, 'level' | 'message' | 'fields'>): void =>
    parts.log({ ...line, workflow: workflow.id, task, node, attempt });

  const abort = (reason: PhaseAborted): void => {
    life.abort(reason);
    activity.stop();
    if (reason.why === 'lost' || reason.why === 'stopping') drop(reason);
  };
  const session = createSession({ port, clock, task, lease, worker, onLost: abort });
  const activity = createActivity({
    clock,
    parkMs,
    onWaiting: (now) => {
      isWaiting = now;
      if (now) stopwatch.pause();
      else stopwatch.run();
    },
  });
  const phase = workflow.phases.get(node);
  const limitMs = phase === undefined ? WORK_MS : timeoutOf(phase);
  const stopwatch = createStopwatch(clock, limitMs, () =>
    abort(new PhaseAborted('timeout', `the phase exceeded its limit of ${String(limitMs)} ms`)),
  );

  const work = async (given: WorkInput): Promise<PhaseEnd | undefined> => {
    if (phase === undefined)
      return failedEnd('run', new HoldpointError('PROGRAM_NEXT_UNKNOWN', `there is no phase ${node}`));
    const records = createRecords({
      entries: given.entries,
      session,
      activity,
      clock,
      isOver: () => isOver,
    });
    const run: PhaseRun = {
      order,
      given,
      workflow,
      life,
      records,
      activity,
      port,
      clock,
      log,
      root: activity.open(),
      state: createStateHolder(given.state),
    };
    const deaf = port.listen(task, (news) => {
      records.hear(news);
      if (news.kind === 'cancelled')
        abort(new PhaseAborted('cancelled', `the task was cancelled: ${news.reason}`));
    });
    try {
      return await Promise.race([
        runPhase(run, phase, session),
        activity.parked.then((on): PhaseEnd => ({ kind: 'suspended', on: [...on] })),
        dropped.then((reason): PhaseEnd | undefined =>
          reason.why === 'stopping' ? { kind: 'returned', reason: reason.message } : undefined,
        ),
      ]);
    } finally {
      deaf();
    }
  };

  let isOver = false;
  /** Everything the phase does afterwards is ignored. */
  const settle = (): void => {
    isOver = true;
    activity.stop();
    stopwatch.pause();
    life.abandon();
  };

  /** When the orchestrator refuses an end, the phase fails with that error. */
  const conclude = async (end: PhaseEnd): Promise<void> => {
    try {
      await session.end(end);
    } catch (error) {
      if (!(error instanceof HoldpointError) || end.kind === 'failed') throw error;
      await session.end(failedEnd('after', error));
    }
  };

  /** The input of the phase, if the orchestrator has ordered exactly this phase. */
  const claim = async (): Promise<WorkInput | undefined> => {
    const { input } = order;
    const { claimed, given, phase: real } = await session.claim(input === undefined);
    if (claimed !== 'unanswered') acknowledge();
    if (claimed !== 'held' || real === undefined) return undefined;
    if (!isSamePhase(order, real)) {
      log({ level: 'warn', message: 'the order was not sent by the orchestrator', fields: {} });
      await session.end({ kind: 'returned', reason: 'the order differs from the phase of its lease' });
      return undefined;
    }
    if (given !== undefined) return given;
    if (input !== undefined && digestOf(input) === real.inputSha256) return input;
    // Entries may have ended since the order was sent.
    return (await session.claim(true)).given;
  };

  const main = async (): Promise<void> => {
    stopwatch.run();
    // An order proves nothing: work starts only once the orchestrator has confirmed it.
    const given = await claim();
    if (given === undefined || life.aborted()?.why === 'lost') return;
    const end = await work(given);
    settle();
    if (end === undefined || life.aborted()?.why === 'lost') return;
    if (life.aborted()?.why === 'cancelled' && end.kind !== 'returned') return;
    await conclude(end);
  };

  const done = main()
    .catch((error: unknown) => {
      if (error instanceof PhaseAborted) return;
      const { code, message } = failureOf(error);
      log({ level: 'error', message: 'the end of the phase could not be stored', fields: { code, message } });
    })
    .finally(() => {
      settle();
      session.close();
    });

  return {
    done,
    giveBack: (reason) => abort(new PhaseAborted('stopping', reason)),
    isWaiting: () => isWaiting,
  };
};
