import type { ConsumerDeclaration } from '@holdpoint/contracts/bus/streams';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Pool } from 'pg';
import type { Engine } from '../engine/engine.ts';
import { errorFields } from '../engine/error-fields.ts';
import type { Addressed } from '../engine/kinds.ts';
import type { Seals } from '../engine/seals.ts';
import type { Logger } from '../observability/log.ts';
import { createHandOn, type HandOn } from '../ownership/hand-on.ts';
import { handOnBus } from '../ownership/hand-on-bus.ts';
import { type Standing, startOwnership } from '../ownership/lease.ts';
import { endStuckTransactions, type Leases, ownershipFence } from '../ownership/lease-store.ts';
import { takeBack } from '../ownership/take-back.ts';
import type { CommitGuard } from '../store/commit-guard.ts';
import { instanceName } from './instance.ts';
import { systemClock } from './system-clock.ts';

/** What a process does for its service while it owns it. */
export type Duties = {
  readonly begin: () => Promise<void>;
  readonly end: () => Promise<void>;
  /** Which requests it answers: those that decide only as long as no other process owns the service. */
  readonly answer: (which: 'all' | 'queries') => Promise<void>;
};

/** Who decides for the service, as this process sees it. */
export type Owner = {
  readonly isOwner: () => boolean;
  /** Another process owns the service. */
  readonly standsBy: () => boolean;
  /** Undefined where every replica decides. */
  readonly fence: CommitGuard | undefined;
  readonly onFenced: () => void;
  /** Lets the owner decide what the surfaces and the work of this process want decided. */
  readonly route: <To extends Addressed>(accept: Engine<To>['accept']) => Engine<To>['accept'];
  /** Resolves once the process has found out whether it owns the service. */
  readonly start: (duties: Duties) => Promise<void>;
  /** No message is taken in from now on. The process still owns the service, and records what is under way. */
  readonly quiet: () => Promise<void>;
  /** Leaves the service to a standby. Resolves once that one answers, at once when there is none. */
  readonly leave: () => Promise<void>;
};

/** Every replica decides: their work spreads over machines, and each aggregate is locked for each decision. */
export const everyReplica = (): Owner => {
  let held: Duties | undefined;
  return {
    isOwner: () => true,
    standsBy: () => false,
    fence: undefined,
    onFenced: () => undefined,
    route: (accept) => accept,
    start: async (duties) => {
      held = duties;
      await duties.answer('all');
      await duties.begin();
    },
    quiet: async () => held?.end(),
    leave: () => Promise.resolve(),
  };
};

export type OneOwnerOptions = {
  readonly service: ServiceName;
  readonly leases: Leases;
  readonly connection: NatsConnection;
  readonly seals: Seals;
  readonly consumers: () => readonly ConsumerDeclaration[];
  /** The connections of the commits: a frozen owner may leave a transaction open on one like them. */
  readonly transactions: Pool;
  readonly log: Logger;
};

const BEGIN_RETRY_MS = 500;

/** One replica decides at a time; the others stand by, answer queries and hand on the rest. */
export const oneOwner = (options: OneOwnerOptions): Owner => {
  const { service, leases, connection, seals, consumers, transactions, log } = options;
  const name = `${instanceName(service)}-${crypto.randomUUID().slice(0, 8)}`;
  let ownership: ReturnType<typeof startOwnership> | undefined;
  let duties: Duties | undefined;
  let handOn: Pick<HandOn<Addressed>, 'serve' | 'standBy' | 'announceStop'> | undefined;
  let isAtWork = false;
  let isQuiet = false;
  let serving: { readonly stop: () => void } | undefined;
  let standingBy: { readonly stop: () => void } | undefined;

  const isOwner = (): boolean => ownership?.isOwner() === true;

  /** What an earlier owner holds, in the database and on the bus. */
  const takeOver = async (): Promise<void> => {
    await endStuckTransactions(transactions);
    const taken = await Promise.all(consumers().map((consumer) => takeBack(connection, consumer)));
    log.info({ taken: taken.reduce((sum, count) => sum + count, 0) }, 'this process owns the service');
  };

  const stopWork = async (): Promise<void> => {
    serving?.stop();
    serving = undefined;
    if (isAtWork) await duties?.end();
    isAtWork = false;
  };

  const changed = async (standing: Standing): Promise<void> => {
    await stopWork();
    if (isQuiet || duties === undefined) return;
    if (standing.is === 'standby') log.info({}, 'another process owns the service: this one stands by');
    await duties.answer(standing.is === 'standby' ? 'queries' : 'all');
    while (standing.is === 'owner' && !isAtWork && !isQuiet && ownership?.standing() === standing) {
      try {
        isAtWork = true;
        serving ??= handOn?.serve();
        await takeOver();
        await duties.begin();
      } catch (error) {
        log.warn(errorFields(error), 'the service could not be taken over yet');
        await stopWork();
        await new Promise((resolve) => setTimeout(resolve, BEGIN_RETRY_MS));
      }
    }
  };

  return {
    isOwner,
    standsBy: () => ownership?.standing().is === 'standby',
    fence: ownershipFence(service, name, () => ownership?.epoch()),
    onFenced: () => ownership?.fenced(),
    route: <To extends Addressed>(accept: Engine<To>['accept']) => {
      const created = createHandOn<To>({
        service,
        bus: handOnBus(connection, service),
        seals,
        isOwner,
        accept,
        log,
        lookNow: async () => ownership?.lookNow(),
        clock: systemClock,
      });
      handOn = created;
      return created.accept;
    },
    start: async (given) => {
      duties = given;
      await given.answer('all');
      standingBy = handOn?.standBy();
      ownership = startOwnership({
        leases: leases.of(service, name),
        clock: systemClock,
        log,
        changed,
      });
      await ownership.ready;
    },
    quiet: async () => {
      isQuiet = true;
      standingBy?.stop();
      if (isAtWork) await duties?.end();
      isAtWork = false;
    },
    leave: async () => {
      const wasOwner = isOwner();
      await ownership?.release();
      if (wasOwner) await handOn?.announceStop();
    },
  };
};
