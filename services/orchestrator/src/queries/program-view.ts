import type { ProgramPhase } from '@holdpoint/contracts/program/definition';
import type { JobStatus } from '@holdpoint/contracts/task/status';
import type { NodeView, TaskView } from '@holdpoint/contracts/task/views';
import { effectsOf, isOver, type Program, startOfAttempt } from '@holdpoint/programs/state';

/** The job status that the command line shows for a phase. */
const jobOf = (task: Program, { id }: ProgramPhase): { readonly status: string; readonly job: JobStatus } => {
  const seen = task.seen[id];
  if (task.node === id && !isOver(task)) {
    const { status, pausedByHand, question } = task;
    if (pausedByHand) return { status, job: 'paused' };
    switch (status) {
      case 'asked':
        return { status, job: question?.about === 'failure' ? 'escalated' : 'waiting_on_approval' };
      case 'retrying':
        return { status, job: 'recovering' };
      case 'suspended':
        return { status, job: task.phase === 'awaiting_approval' ? 'waiting_on_approval' : 'running' };
      case 'started':
        return { status, job: 'running' };
      case 'ordered':
      case 'held':
      case 'ended':
        return { status, job: 'queued' };
    }
  }
  if (seen === undefined) return { status: 'idle', job: isOver(task) ? 'unreached' : 'waiting_on_deps' };
  if (seen.status === 'open') return { status: 'cancelled', job: 'cancelled' };
  return { status: seen.status, job: seen.status };
};

const phaseView = (task: Program, phase: ProgramPhase): NodeView => {
  const { id } = phase;
  const seen = task.seen[id];
  const isCurrent = task.node === id && !isOver(task);
  const attempt = isCurrent ? task.attempt : (seen?.attempt ?? 1);
  const error = seen?.error;
  const waits = task.waits ?? (task.status === 'suspended' ? waitText(task) : undefined);
  return {
    id,
    ...jobOf(task, phase),
    attempt,
    uses: `program.${phase.type}`,
    after: task.program.phases.flatMap((other) =>
      other.type !== 'terminal' && other.next?.includes(id) === true ? [other.id] : [],
    ),
    gated: phase.type === 'human',
    ...(isCurrent && waits !== undefined && { wait: { kind: 'dependencies', detail: waits } as const }),
    ...(isCurrent && task.question !== undefined && { question: task.question.approval }),
    ...(seen?.output !== undefined && { outputs: { output: seen.output } }),
    ...(error !== undefined && { error }),
  };
};

const waitText = (task: Program): string => {
  const open = effectsOf(task).filter(({ ended }) => ended === undefined);
  return open.length === 0
    ? 'it sleeps'
    : `waiting for ${open.map(({ key, task: by }) => `${key.slice('effect:'.length)} (task ${by})`).join(', ')}`;
};

/** The API view of a task that runs a program: its phases are its nodes. */
export const programView = (task: Program): TaskView => ({
  id: task.id,
  workflow: `${task.program.id}@${task.program.version}`,
  definitionHash: task.hash,
  goal: task.goal,
  ...(task.acceptanceCriteria.length > 0 && { acceptanceCriteria: [...task.acceptanceCriteria] }),
  ...(task.reviews && { reviews: task.reviews }),
  ...(task.artifact && { artifact: task.artifact }),
  phase: task.phase,
  version: task.version,
  ...(task.repository !== undefined && { repository: task.repository }),
  requestedBy: task.requestedBy,
  ...(task.agent !== undefined && { agent: task.agent }),
  ...(task.outcome !== undefined && { outcome: task.outcome }),
  entries: [task.program.initial],
  sinks: task.program.phases.flatMap(({ id, type }) => (type === 'terminal' ? [id] : [])),
  nodes: task.program.phases.map((phase) => phaseView(task, phase)),
  ...(task.error !== undefined && { error: task.error }),
  state: startOfAttempt(task),
  effects: effectsOf(task).map(({ task: by }) => by),
});
