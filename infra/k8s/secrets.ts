import { parseArgs } from 'node:util';
import { messageOf } from '../local/problem.ts';
import { poolsIn } from '../nats/pools.ts';
import { natsManifest, secretManifests } from './secret-manifests.ts';

/** Prints the secrets of a credentials folder as manifests, for `kubectl apply -f -` or for whatever keeps your secrets. */
const usage = `usage: node infra/k8s/secrets.ts --credentials <folder> [--nats] [--pools default,web]
  --nats  also the configuration of NATS, for the overlay dev
`;

try {
  const { values } = parseArgs({
    options: {
      credentials: { type: 'string' },
      nats: { type: 'boolean', default: false },
      pools: { type: 'string', default: '' },
    },
  });
  const { credentials } = values;
  if (credentials === undefined) throw new Error('--credentials is missing');
  const items = [
    ...(await secretManifests(credentials)),
    ...(values.nats ? [await natsManifest(credentials, poolsIn(values.pools))] : []),
  ];
  process.stdout.write(`${JSON.stringify({ apiVersion: 'v1', kind: 'List', items })}\n`);
} catch (error) {
  process.stderr.write(`secrets: ${messageOf(error)}\n${usage}`);
  process.exit(64);
}
