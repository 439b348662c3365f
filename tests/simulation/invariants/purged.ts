import { isEndPhase } from '@holdpoint/contracts/task/status';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { programIn, taskIn } from '../event-states.ts';
import type { World } from '../world.ts';

const OPEN: ReadonlySet<string> = new Set(['pending', 'prepared', 'started']);

/** Nothing is purged that an open task needs, nothing purged returns, and finally everything is purged. */
export const watchRetired = (world: World) => {
  const { checker, books, databases, watchers } = world;
  const gone = new Set<string>();

  const isOpen = (task: string): boolean => {
    const state = taskIn(books, task) ?? programIn(books, task);
    return state !== undefined && !isEndPhase(state.phase);
  };

  const taskOf = (service: ServiceName, id: string): string => {
    const [first] = databases[service].tables.events.get(id) ?? [];
    const { task } = (first ?? {}) as { readonly task?: unknown };
    return typeof task === 'string' && service !== 'orchestrator' ? task : id;
  };

  const statusOf = (service: ServiceName, id: string): string => {
    const state = books[service].stateOf(id);
    return state !== undefined && 'status' in state ? state.status : '';
  };

  // Registered first, so that a violation names the cause and not its consequences.
  watchers.committed.push((service, { events }) => {
    for (const { aggregate, version, type } of events)
      checker.expect(
        'a purged aggregate is not written again',
        !gone.has(`${service} ${aggregate}`),
        aggregate,
        () => `${service} writes ${type} ${String(version)} of ${aggregate}, which was not needed any more`,
      );
  });

  return {
    goes: (service: ServiceName, ids: readonly string[]): void => {
      for (const id of ids) {
        gone.add(`${service} ${id}`);
        const task = taskOf(service, id);
        checker.expect(
          'nothing is purged that an open task needs',
          !isOpen(task) && !OPEN.has(statusOf(service, id)),
          task,
          () => `${id} of ${service} goes while it is ${statusOf(service, id)}; its task is ${task}`,
        );
      }
    },
    check: (tasks: Iterable<string>): void => {
      for (const id of tasks) {
        if ((taskIn(books, id) ?? programIn(books, id)) === undefined) continue;
        checker.expect(
          'everything that ended is finally purged',
          gone.has(`orchestrator ${id}`),
          id,
          () => `${id} is still there`,
        );
      }
    },
  };
};
