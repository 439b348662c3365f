import { type ServiceName, SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { Node } from './replica.ts';
import type { World } from '../world.ts';

type Nodes = Readonly<Record<ServiceName, readonly Pick<Node<never>, 'isUp' | 'owns' | 'tick' | 'sweep'>[]>>;

const TICK_MS = 240;
const LONG_AFTER_MS = 90_000;
const SWEEP_AFTER_MS = 6_500;
const LOOK_AGAIN_MS = 1_500;

/**
 * The periodic jobs of all replicas, run only when they have work: a clock that moves from event to event
 * would otherwise never stop.
 */
export const startHousekeeping = (world: World, nodes: Nodes): void => {
  const { timeline, choices, weather, databases, watchers } = world;

  const someNode = (service: ServiceName, place: string): Nodes[ServiceName][number] | undefined => {
    const up = nodes[service].filter((node) => node.isUp());
    // Without an owner the node takes over, for the look that follows.
    const owners = up.filter((node) => node.owns());
    return up.length === 0 ? undefined : choices.pick(place, owners.length > 0 ? owners : up);
  };

  const lookAtTimer = (service: ServiceName, key: string, dueAt: number): void => {
    const { tables, now } = databases[service];
    const timer = tables.timers.get(key);
    if (timer?.dueAt !== dueAt) return;
    const left = dueAt - now();
    if (left > 0) return void timeline.in(left, () => lookAtTimer(service, key, dueAt));
    someNode(service, `tick ${service} ${key}`)?.tick();
    timeline.in(LOOK_AGAIN_MS, () => lookAtTimer(service, key, dueAt));
  };

  const lookAtOutbox = (service: ServiceName, row: string): void => {
    if (!databases[service].tables.outbox.has(row)) return;
    for (const node of nodes[service]) if (node.isUp()) node.sweep();
    timeline.in(LOOK_AGAIN_MS, () => lookAtOutbox(service, row));
  };

  const lastRow = Object.fromEntries(SERVICES.map((service) => [service, 0])) as Record<ServiceName, number>;
  watchers.committed.push((service, write, now) => {
    for (const { aggregate, name, dueAt } of write.timersSet) {
      const key = `${aggregate}/${name}`;
      const late = weather.strikes('timer comes long after it is due', `${service} ${key}`)
        ? choices.between(`late ${key}`, 0, LONG_AFTER_MS)
        : choices.number(`tick ${key}`) * TICK_MS;
      timeline.in(dueAt - now + late, () => lookAtTimer(service, key, dueAt));
    }
    const row = Number([...databases[service].tables.outbox.keys()].at(-1) ?? 0);
    if (row > lastRow[service]) {
      lastRow[service] = row;
      timeline.in(SWEEP_AFTER_MS, () => lookAtOutbox(service, String(row)));
    }
  });
};
