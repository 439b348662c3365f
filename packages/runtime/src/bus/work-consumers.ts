import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { workConsumer } from '@holdpoint/contracts/bus/streams';
import { DeliverPolicy, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { consumerConfig, createConsumer, ifThere } from './topology.ts';

/** Creates what is missing of the consumers of these program versions. Throws `RUNTIME_UNAVAILABLE`. */
export type AssertWorkConsumers = (hashes: readonly string[]) => Promise<void>;

/** Workers may only take orders, so the owner of the topology creates their consumers. */
export const workConsumersOn = (topology: NatsConnection | undefined): AssertWorkConsumers => {
  if (topology === undefined) return () => Promise.resolve();
  const connected = jetstreamManager(topology, { checkAPI: false });
  return async (hashes) => {
    try {
      const manager = await connected;
      for (const hash of hashes) {
        const declared = workConsumer(hash);
        if ((await ifThere(manager.consumers.info(declared.stream, declared.name))) !== undefined) continue;
        // The lease shows which of the stored orders are over.
        const config = { ...consumerConfig(declared), deliver_policy: DeliverPolicy.All };
        await createConsumer(manager, declared.stream, config);
      }
    } catch (cause) {
      throw new HoldpointError('RUNTIME_UNAVAILABLE', 'the bus has no consumer for the program: try again', {
        cause,
      });
    }
  };
};
