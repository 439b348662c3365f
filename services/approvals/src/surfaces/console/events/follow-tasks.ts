import { TaskPhase } from '@holdpoint/contracts/task/status';
import type { ServerEvent } from './event-stream.ts';
import type { TaskEvent, TaskEvents } from './task-events.ts';

/** What happened to a task last is told so often at the most: whoever looks at a list reads no faster. */
const SEND_EVERY_MS = 200;
/** Tasks of one telling. When there are more, the list is to be loaded again. */
const TASKS_MAX = 200;

/** Of what a list shows, as far as a fact says it. */
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

/** Tells of all tasks, each by what happened to it last. A list needs no gapless history: what is left out is said to be. */
export const followTasks = (
  facts: TaskEvents,
  send: (event: ServerEvent) => void,
): { readonly stop: () => void } => {
  const latest = new Map<string, ReturnType<typeof shortOf>>();
  let isTooMuch = false;
  const hearing = facts.subscribe((fact) => {
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
    const told = [...latest.values()];
    latest.clear();
    if (isTooMuch)
      send({ event: 'reset', data: { reason: 'more happens than is told: load the list again' } });
    // Whoever goes on behind one of them has missed what nobody knows, and loads the list again.
    else for (const data of told) send({ event: 'fact', id: '0', data });
    isTooMuch = false;
  }, SEND_EVERY_MS);
  return {
    stop: () => {
      clearInterval(timer);
      hearing.stop();
    },
  };
};
