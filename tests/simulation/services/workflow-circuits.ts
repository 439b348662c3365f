import { isWorkflowCircuit } from '@holdpoint/contracts/recovery/circuit';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import type { RecoveryEvent } from '@holdpoint/contracts/recovery/events';
import { isCircuit, tasksIn } from '../event-states.ts';
import type { Life } from '../process-life.ts';
import type { World } from '../world.ts';

/** How long until a missed event is found by polling. */
const ASKS_AGAIN_MS = 3_000;

/**
 * What one orchestrator knows of workflow circuits: nothing at its start, then the events that it gets and
 * the polled state. A closed circuit wakes the tasks that wait.
 */
export const followWorkflowCircuits = (
  { books, timeline, weather, watchers }: World,
  life: Life,
  wake: (task: TaskId) => void,
): (() => readonly string[]) => {
  let open: ReadonlySet<string> = new Set();

  const wakeAll = (): void => {
    for (const { id, circuit } of tasksIn(books)) if (circuit?.state === 'waiting') wake(id);
  };
  const ask = (): void => {
    const all = [...books.recovery.states.values()].filter(isCircuit);
    const found = all.filter(({ target, state }) => isWorkflowCircuit(target) && state !== 'closed');
    const before = open;
    open = new Set(found.map(({ target }) => target));
    if ([...before].some((target) => !open.has(target))) wakeAll();
  };
  const askAfter = (ms: number): void => void timeline.in(ms, () => life.enter(ask));

  const hear = (event: RecoveryEvent): void => {
    if (!('target' in event) || !isWorkflowCircuit(event.target) || event.type === 'circuit_failure_recorded')
      return;
    const { type, target } = event;
    const place = `${life.name} hears ${type} of ${target}`;
    if (weather.strikes('circuit fact is missed', place)) return askAfter(ASKS_AGAIN_MS);
    timeline.in(weather.latency(place), () =>
      life.enter(() => {
        const next = new Set(open);
        if (type === 'circuit_closed') next.delete(target);
        else next.add(target);
        open = next;
        if (type === 'circuit_closed') wakeAll();
      }),
    );
  };
  watchers.committed.push((service, { events }) => {
    if (service !== 'recovery' || !life.isAlive()) return;
    for (const { body } of events) hear(JSON.parse(body) as RecoveryEvent);
  });
  askAfter(weather.latency(`${life.name} asks for all circuits`));
  return () => [...open];
};
