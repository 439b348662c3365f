import { messageOf } from '@holdpoint/infra/local/problem';
import type { Deployment } from './deployment/deployment.ts';
import type { Fault, FaultContext } from './faults/fault.ts';
import type { History } from './history.ts';
import type { Plan, PlanStep } from './plan.ts';
import type { Recorder } from './bus-recorder.ts';

export type Tally = {
  /** By fault: how often it happened. */
  readonly done: ReadonlyMap<string, number>;
  /** Planned faults that did not happen, with the reason. */
  readonly skipped: ReadonlyMap<string, { readonly reason: string; readonly times: number }>;
  /** Faults that failed themselves, which proves nothing about the deployment. */
  readonly failed: readonly string[];
};

export type FaultRunnerOptions = {
  readonly plan: Plan;
  readonly faults: readonly Fault[];
  readonly deployment: Deployment;
  readonly recorder: Recorder;
  readonly history: History;
  readonly say: (line: string) => void;
  /** Aborted at the end of the run. */
  readonly over: AbortSignal;
};

const ENDS_WITHIN_MS = 120_000;

const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/** One listener per signal: adding a listener searches all listeners of the signal. */
const waitersFor = (signal: AbortSignal): Set<() => void> => {
  const known = waiting.get(signal);
  if (known !== undefined) return known;
  const waiters = new Set<() => void>();
  waiting.set(signal, waiters);
  signal.addEventListener('abort', () => waiters.forEach((wake) => wake()), { once: true });
  return waiters;
};

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else waitersFor(signal).add(resolve);
  });

/** Waits, or returns early when the signal aborts. */
export const holdFor = (ms: number, over: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (over.aborted || ms <= 0) return resolve();
    const waiters = waitersFor(over);
    const wake = (): void => {
      clearTimeout(timer);
      waiters.delete(wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    waiters.add(wake);
  });

/** Faults that need the same resource run one after the other. */
export const createTurns = () => {
  const last = new Map<string, Promise<void>>();
  return async (names: readonly string[]): Promise<() => void> => {
    let release = (): void => undefined;
    const mine = new Promise<void>((resolve) => {
      release = resolve;
    });
    const before = names.map((name) => last.get(name) ?? Promise.resolve());
    // All resources in one step, so that no deadlock is possible.
    for (const name of names) last.set(name, mine);
    await Promise.all(before);
    return release;
  };
};

/** Runs a plan. Resolves when every fault has ended. */
export const runPlan = async (options: FaultRunnerOptions): Promise<Tally> => {
  const { plan, faults, deployment, recorder, history, say, over } = options;
  const byName = new Map(faults.map((fault) => [fault.name, fault]));
  const takeTurn = createTurns();
  const done = new Map<string, number>();
  const skipped = new Map<string, { reason: string; times: number }>();
  const failed: string[] = [];
  const began = performance.now();

  const skip = ({ fault }: PlanStep, step: number, reason: string): void => {
    const times = (skipped.get(fault)?.times ?? 0) + 1;
    skipped.set(fault, { reason, times });
    history.add({ nemesis: fault, step, type: 'skip', value: reason });
    if (times === 1) say(`fault ${fault} skipped: ${reason}`);
  };

  const inject = async (fault: Fault, { params }: PlanStep, step: number): Promise<void> => {
    const context: FaultContext = { deployment, recorder, step, hold: (ms) => holdFor(ms, over) };
    history.add({ nemesis: fault.name, step, type: 'begin', value: params });
    say(`fault ${fault.name} ${JSON.stringify(params)}`);
    try {
      const value = await fault.inject(params, context);
      history.add({ nemesis: fault.name, step, type: 'end', ...(value !== undefined && { value }) });
      done.set(fault.name, (done.get(fault.name) ?? 0) + 1);
    } catch (error) {
      failed.push(`${fault.name}: ${messageOf(error)}`);
      history.add({ nemesis: fault.name, step, type: 'error', value: messageOf(error) });
      say(`fault ${fault.name} could not be carried through: ${messageOf(error)}`);
    }
  };

  const take = async (planned: PlanStep, step: number): Promise<void> => {
    const fault = byName.get(planned.fault);
    if (fault === undefined) return skip(planned, step, 'not among the faults of this run');
    const whyNot = fault.whyNot(deployment);
    if (whyNot !== undefined) return skip(planned, step, whyNot);
    await holdFor(began + planned.at - performance.now(), over);
    const release = await takeTurn(fault.takes(planned.params));
    try {
      if (over.aborted) skip(planned, step, 'the run was over before its turn came');
      else await inject(fault, planned, step);
    } finally {
      release();
    }
  };

  const all = Promise.all(plan.steps.map(take));
  // Faults that are active at the end of the run get time to end.
  const mended = new AbortController();
  await Promise.race([all, aborted(over).then(() => holdFor(ENDS_WITHIN_MS, mended.signal))]);
  mended.abort();
  return { done, skipped, failed };
};
