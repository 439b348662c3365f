import { isEndPhase, TaskPhase } from '@holdpoint/contracts/task/status';
import type { CommittedEvent } from '@holdpoint/runtime/engine/batch';
import type { Meter } from '@holdpoint/runtime/observability/meter';
import type { OrchestratorEvent } from './aggregates.ts';

/** In seconds. */
const TAKES = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400, 604_800];

/** Phases, durations and failures of tasks. */
export const taskMetrics = (meter: Meter): ((event: CommittedEvent<OrchestratorEvent>) => void) => {
  const entered = meter.counter(
    'task_phase_entered_total',
    'How often tasks have entered a phase',
    TaskPhase.options.map((phase) => ({ phase })),
  );
  const seconds = meter.histogram('task_seconds', 'From the submission of a task to its end', TAKES);
  const nodes = meter.counter(
    'node_failures_total',
    'Attempts at jobs that failed, or whose outcome is in doubt',
    [{ outcome: 'failed' }, { outcome: 'in_doubt' }],
  );
  return ({ event, entered: phase, ageMs }) => {
    if (event.type === 'node_failed') nodes(1, { outcome: event.outcome });
    if (phase === undefined) return;
    entered(1, { phase });
    if (isEndPhase(phase)) seconds(ageMs / 1_000, { phase });
  };
};
