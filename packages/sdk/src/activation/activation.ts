import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { PhaseEnd, WorkInput, WorkOrder } from '@holdpoint/contracts/program/work';
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
  /** It has come before: whether it is still wanted is asked first. */
  readonly isRepeat: boolean;
  readonly port: WorkPort;
  readonly clock: Clock;
  /** The worker, by a name that no other has. */
  readonly worker: string;
  /** A phase that does nothing but wait for so long is given back, and ordered anew when there is news. */
  readonly parkMs: number;
  readonly log: WorkerLog;
  /** The order need not come again. */
  readonly acknowledge: () => void;
};

/** One order, worked off. */
export type RunningActivation = {
  /** Resolves when it is over, in whatever way; it never rejects. */
  readonly done: Promise<void>;
  /** Somebody else shall go on with it. */
  readonly giveBack: (reason: string) => void;
  /** Whether it does nothing but wait for what it has recorded. */
  readonly isWaiting: () => boolean;
};

const WORK_MS = 15 * 60_000;

const timeoutOf = (phase: AnyPhase): number =>
  phase.type === 'terminal' ? WORK_MS : (phase.spec.timeoutMs ?? WORK_MS);

/** Starts to work off an order: the same code for a worker on the bus and for one in memory. */
export const startActivation = (parts: ActivationParts): RunningActivation => {
  const { workflow, order, isRepeat, port, clock, worker, parkMs, acknowledge } = parts;
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
    abort(new PhaseAborted('timeout', `the phase has worked longer than ${String(limitMs)} ms`)),
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
  /** What a phase does from now on counts for nothing. */
  const settle = (): void => {
    isOver = true;
    activity.stop();
    stopwatch.pause();
    life.abandon();
  };

  /** What an end is refused with is how the phase has failed. */
  const conclude = async (end: PhaseEnd): Promise<void> => {
    try {
      await session.end(end);
    } catch (error) {
      if (!(error instanceof HoldpointError) || end.kind === 'failed') throw error;
      await session.end(failedEnd('after', error));
    }
  };

  const claim = async (give: boolean): Promise<WorkInput | undefined> => {
    const { claimed, given } = await session.claim(give);
    if (claimed !== 'unanswered') acknowledge();
    return claimed === 'held' ? given : undefined;
  };

  const main = async (): Promise<void> => {
    stopwatch.run();
    // The first time, nobody else can have it: what it needs is there, and so it begins while the lease is asked for.
    const claiming = claim(order.input === undefined);
    const given = isRepeat || order.input === undefined ? ((await claiming) ?? order.input) : order.input;
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
      log({ level: 'error', message: 'the phase could not be concluded', fields: { code, message } });
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
