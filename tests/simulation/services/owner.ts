import { consumers } from '@holdpoint/contracts/bus/streams';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { LeaseStore } from '@holdpoint/runtime/ownership/lease';
import { LEASE_MS, RENEW_MS } from '@holdpoint/runtime/ownership/lease';
import type { Life } from '../process-life.ts';
import type { World } from '../world.ts';

/** What one life of a process knows of the owner of its service. */
export type SimulatedOwner = {
  readonly name: string;
  readonly owns: () => boolean;
  readonly epoch: () => number | undefined;
  /** Looks at the lease, unless the process has renewed it just now. */
  readonly look: () => void;
  readonly fenced: () => void;
};

/**
 * The owner of a service in a world whose clock moves from event to event: a process looks at the lease when there is work, not
 * every second. So the owner changes more often than it ever would.
 */
export const createSimulatedOwner = (
  { timeline, bus, trace }: World,
  service: ServiceName,
  life: Life,
  /** Of this life: a process that starts again is another owner. */
  name: string,
  leases: () => LeaseStore,
  tookOver: () => void,
): SimulatedOwner => {
  let epoch: number | undefined;
  let until = -Infinity;
  let isLooking = false;

  const owns = (): boolean => epoch !== undefined && timeline.now() < until;

  const learn = async (): Promise<void> => {
    const began = timeline.now();
    const lease = await leases().look();
    if (!lease.isMine || timeline.now() >= began + LEASE_MS) {
      epoch = undefined;
      return;
    }
    until = began + LEASE_MS;
    if (epoch === lease.epoch) return;
    epoch = lease.epoch;
    trace.note(life.name, '', () => `owns the service with epoch ${String(epoch)}`);
    for (const consumer of consumers) if (consumer.service === service) bus.takeBack(consumer.name);
    tookOver();
  };

  return {
    name,
    owns,
    epoch: () => epoch,
    look: () => {
      if (isLooking || (owns() && until - timeline.now() > LEASE_MS - RENEW_MS)) return;
      isLooking = true;
      // A store that does not answer is asked again by the next message.
      learn()
        .catch(() => undefined)
        .finally(() => {
          isLooking = false;
        });
    },
    fenced: () => {
      epoch = undefined;
    },
  };
};
