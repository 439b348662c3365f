import { streams } from '@holdpoint/contracts/bus/streams';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { jetstreamManager } from '@nats-io/jetstream';
import type { Deployment } from '../deployment/deployment.ts';
import type { Seen } from './measurements.ts';

/** Stream sizes. Streams keep messages for days, so within an hour they only grow, up to their limit. */
export const lookAtStreams = async ({
  natsUrl,
  credentialsDir,
}: Pick<Deployment, 'natsUrl' | 'credentialsDir'>): Promise<readonly Seen[]> => {
  const connection = await connectAs({ url: natsUrl, credentialsDir, user: 'monitor' });
  try {
    const manager = await jetstreamManager(connection, { checkAPI: false });
    const found: Seen[] = [];
    for (const { name, maxBytes } of streams) {
      const { state } = await manager.streams.info(name);
      found.push({
        name: `size of ${name}`,
        unit: 'bytes',
        bound: { kind: 'limit', most: maxBytes },
        value: state.bytes,
      });
    }
    return found;
  } finally {
    await connection.close();
  }
};
