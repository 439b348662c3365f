import { approvalOf, effectOf, type Target } from '../workload/target.ts';
import type { PlannedTask } from '../workload/planned.ts';
import type { Recorder } from '../bus-recorder.ts';
import { BOUNDS, type Seen } from './measurements.ts';

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

/** After this time an effect was delayed by an outage or will never come. */
const FORGOTTEN_AFTER_MS = 120_000;

/** The rate of ended tasks, and the latency from approval to effect, by published events. */
export const watchPace = (
  recorder: Pick<Recorder, 'onFact'>,
  target: Target,
  tasks: () => readonly PlannedTask[],
) => {
  /** By effect: when its approval was resolved. */
  const resolved = new Map<string, number>();
  const effects = new Map<string, string>();
  let known = 0;
  let took: number[] = [];
  let ended = 0;

  const effectBehind = (approval: string): string | undefined => {
    const all = tasks();
    for (; known < all.length; known += 1) {
      const task = all[known];
      if (task !== undefined) effects.set(approvalOf(target, task), effectOf(target, task));
    }
    return effects.get(approval);
  };

  recorder.onFact(({ aggregate, type, id }) => {
    if (aggregate === 'task' && ['completed', 'failed', 'cancelled'].includes(type)) ended += 1;
    if (aggregate === 'approval' && type === 'resolved') {
      const effect = effectBehind(id);
      if (effect !== undefined) resolved.set(effect, performance.now());
      effects.delete(id);
    }
    if (aggregate !== 'effect' || type !== 'applied') return;
    const since = resolved.get(id);
    if (since !== undefined) took.push(performance.now() - since);
    resolved.delete(id);
  });

  /** Since the last call. */
  return (seconds: number): readonly Seen[] => {
    const sorted = took.toSorted((a, b) => a - b);
    const perSecond = ended / seconds;
    took = [];
    ended = 0;
    for (const [effect, at] of resolved)
      if (performance.now() - at > FORGOTTEN_AFTER_MS) resolved.delete(effect);
    return [
      { name: 'tasks ended', unit: 'tasks/s', bound: BOUNDS.shown, value: perSecond },
      { name: 'approval to effect, p50', unit: 'ms', bound: BOUNDS.latency, value: percentile(sorted, 0.5) },
      {
        name: 'approval to effect, p99',
        unit: 'ms',
        bound: BOUNDS.worstLatency,
        value: percentile(sorted, 0.99),
      },
    ];
  };
};
