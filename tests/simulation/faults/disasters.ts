import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { TARGETS } from './target-outages.ts';
import type { Cluster } from '../services/cluster.ts';
import type { Node } from '../services/replica.ts';
import type { SimulatedClaimant } from '../services/claimants.ts';
import type { SimulatedWorker } from '../services/workers.ts';
import type { World } from '../world.ts';

type Victim = Pick<Node<never>, 'crash' | 'freeze'>;

const KINDS = [
  'a process dies',
  'a process freezes for a moment',
  'a process freezes past its lease',
  'all processes die',
  'the database goes away',
  'the clock of a database jumps',
  'the lease of a service is that of a backup',
  'the bus goes away',
  'the bus forgets everything',
  'the bus loses its tail, consumers keep theirs',
] as const;

const EVERY_MS = 12_000;
const TAIL_MAX = 40;
/** Until the keeper of the topology has looked. */
const LOOK_AFTER_MS = 4_000;
const MOMENT_MS = 3_000;
const PAST_LEASE_MS = 45_000;
const JUMP_MS = 20_000;
/** Also far more than any lease. */
const BACKUP_LEASE_MS = 60_000;
const PAST_WORK_LEASE_MS = 70_000;
const TARGET_AWAY_MS = 30_000;

/** The names of all disasters that a run of this length may have. */
const count = (overMs: number, severity: number): number => Math.ceil((overMs / EVERY_MS) * severity);

/** Faults that hit the whole system. Each has a name, so that shrinking can leave it out. */
export const planDisasters = (
  world: World,
  cluster: Cluster,
  overMs: number,
  severity: number,
  without: ReadonlySet<string>,
  workers: readonly SimulatedWorker[] = [],
  claimants: readonly SimulatedClaimant[] = [],
): { readonly struck: () => readonly string[] } => {
  const { timeline, choices, databases, bus, away, trace } = world;
  const struck: string[] = [];

  const strike = (kind: (typeof KINDS)[number], place: string): void => {
    const service = choices.pick(`service ${place}`, SERVICES);
    const node = choices.pick<Victim>(`node ${place}`, cluster[service]);
    const upTo = (most: number): number => choices.between(`length ${place}`, 0, most);
    switch (kind) {
      case 'a process dies':
        return node.crash();
      case 'a process freezes for a moment':
        return node.freeze(upTo(MOMENT_MS));
      case 'a process freezes past its lease':
        return node.freeze(upTo(PAST_LEASE_MS));
      case 'all processes die':
        return SERVICES.flatMap((each): readonly Victim[] => cluster[each]).forEach((each) => each.crash());
      case 'the database goes away':
        return databases[service].goAway(upTo(MOMENT_MS));
      case 'the clock of a database jumps':
        return databases[service].jump(upTo(JUMP_MS) - JUMP_MS / 2);
      case 'the lease of a service is that of a backup': {
        const { epoch } = databases[service].leases.row();
        const row = { owner: undefined, epoch: Math.floor(upTo(epoch)), until: databases[service].now() };
        return databases[service].leases.restore({ ...row, until: row.until + upTo(BACKUP_LEASE_MS) });
      }
      case 'the bus goes away':
        return bus.goAway(upTo(MOMENT_MS));
      case 'the bus forgets everything':
        return bus.wipe();
      case 'the bus loses its tail, consumers keep theirs':
        return bus.loseTail(Math.floor(upTo(TAIL_MAX)), upTo(LOOK_AFTER_MS));
    }
  };

  for (let i = 0; i < count(overMs, severity); i += 1) {
    const place = `disaster ${String(i)}`;
    const kind = choices.pick(place, KINDS);
    const name = `${kind} @ ${place}`;
    if (without.has(name)) continue;
    timeline.in(choices.between(`when ${place}`, 0, overMs), () => {
      struck.push(name);
      trace.fault(name);
      strike(kind, place);
    });
  }
  for (let i = 0; i < count(overMs, severity); i += 1) {
    const place = `target ${String(i)}`;
    const name = `a target is away @ ${place}`;
    if (without.has(name)) continue;
    timeline.in(choices.between(`when ${place}`, 0, overMs), () => {
      struck.push(name);
      trace.fault(name);
      away.goAway(choices.pick(place, TARGETS), choices.between(`length ${place}`, 0, TARGET_AWAY_MS));
    });
  }
  for (let i = 0; i < count(overMs, severity) && workers.length > 0; i += 1) {
    const place = `worker ${String(i)}`;
    const kind = choices.pick(place, [
      'a worker dies',
      'a worker freezes past its lease',
      'all workers die',
      'a worker stops',
    ] as const);
    const name = `${kind} @ ${place}`;
    if (without.has(name)) continue;
    timeline.in(choices.between(`when ${place}`, 0, overMs), () => {
      struck.push(name);
      trace.fault(name);
      const one = choices.pick(`which ${place}`, workers);
      if (kind === 'a worker dies') one.crash();
      else if (kind === 'a worker stops') one.stop();
      else if (kind === 'all workers die') for (const each of workers) each.crash();
      else one.freeze(choices.between(`length ${place}`, 0, PAST_WORK_LEASE_MS));
    });
  }
  for (let i = 0; i < count(overMs, severity) && claimants.length > 0; i += 1) {
    const place = `claimant ${String(i)}`;
    const kind = choices.pick(place, [
      'a claimant dies',
      'a claimant freezes past its lease',
      'all claimants die',
    ] as const);
    const name = `${kind} @ ${place}`;
    if (without.has(name)) continue;
    timeline.in(choices.between(`when ${place}`, 0, overMs), () => {
      struck.push(name);
      trace.fault(name);
      const one = choices.pick(`which ${place}`, claimants);
      if (kind === 'a claimant dies') one.crash();
      else if (kind === 'all claimants die') for (const each of claimants) each.crash();
      else one.freeze(choices.between(`length ${place}`, 0, PAST_LEASE_MS));
    });
  }
  return { struck: () => struck };
};
