import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { messageOf } from '../local/problem.ts';
import { poolsIn } from '../nats/pools.ts';
import { NAMESPACE, natsManifest, secretManifests } from './secret-manifests.ts';

/** Prints the secrets of a credentials folder as manifests, for `kubectl apply -f` or a secret store. */
const usage = `usage: node infra/k8s/secrets.ts --credentials <folder> [--output <file>] [--nats] [--pools default,web] [--namespace ${NAMESPACE}]
  --output  a new file, which its owner alone can read, in place of standard output
  --nats    also the configuration of the NATS server inside the chart
`;

try {
  const { values } = parseArgs({
    options: {
      credentials: { type: 'string' },
      output: { type: 'string' },
      nats: { type: 'boolean', default: false },
      pools: { type: 'string', default: '' },
      namespace: { type: 'string', default: NAMESPACE },
    },
  });
  const { credentials, output, namespace } = values;
  if (credentials === undefined) throw new Error('--credentials is missing');
  const items = [
    ...(await secretManifests(credentials, namespace)),
    ...(values.nats ? [await natsManifest(credentials, poolsIn(values.pools), namespace)] : []),
  ];
  const text = `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items })}\n`;
  if (output === undefined) process.stdout.write(text);
  else await writeFile(output, text, { mode: 0o600, flag: 'wx' });
} catch (error) {
  process.stderr.write(`secrets: ${messageOf(error)}\n${usage}`);
  process.exit(64);
}
