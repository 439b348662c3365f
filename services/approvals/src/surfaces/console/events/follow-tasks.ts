import { TaskPhase } from '@holdpoint/contracts/task/status';
import type { ServerEvent } from './event-stream.ts';
import type { TaskEvent, TaskEvents } from './task-events.ts';

/** Interval of updates per task: nobody reads a list faster. */
const SEND_EVERY_MS = 200;
/** Tasks in one interval. When there are more, the client reloads the list. */
const TASKS_MAX = 200;

/** The fields of an event that a list shows. */
const shortOf = ({ data, ...fact }: TaskEvent) => {
  const phase = TaskPhase.safeParse(data['phase']);
  const { goal, workflow } = data;
  return {
    ...fact,
    data: {
      ...(phase.success && { phase: phase.data }),
      ...(fact.type === 'submitted' &&
        typeof goal === 'string' && { goal: goal.slice(0, 200).toWellFormed() }),
      ...(fact.type === 'submitted' && typeof workflow === 'string' && { workflow }),
    },
  };
};

/** Sends the latest message about each task. A list needs no gapless history; a reset says that some are left out. */
export const followTasks = (
  events: TaskEvents,
  send: (event: ServerEvent) => void,
): { readonly stop: () => void } => {
  const latest = new Map<string, ReturnType<typeof shortOf>>();
  let isTooMuch = false;
  const hearing = events.subscribe((fact) => {
    const before = latest.get(fact.id);
    if (before !== undefined && before.version >= fact.version) return;
    if (before === undefined && latest.size >= TASKS_MAX) {
      isTooMuch = true;
      return;
    }
    const short = shortOf(fact);
    latest.set(fact.id, { ...short, data: { ...before?.data, ...short.data } });
  });
  const timer = setInterval(() => {
    const changes = [...latest.values()];
    latest.clear();
    if (isTooMuch) send({ event: 'reset', data: { reason: 'too many changes: load the list again' } });
    // A client that resumes from this id reloads the list.
    else for (const data of changes) send({ event: 'event', id: '0', data });
    isTooMuch = false;
  }, SEND_EVERY_MS);
  return {
    stop: () => {
      clearInterval(timer);
      hearing.stop();
    },
  };
};
