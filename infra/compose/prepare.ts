import { join } from 'node:path';
import { generateCredentials } from '../credentials/generate.ts';
import { readPublicNkeys } from '../credentials/read.ts';
import { messageOf, refuseWrongSettings } from '../local/problem.ts';
import { renderServerConfig } from '../nats/config.ts';
import { poolsIn } from '../nats/pools.ts';
import { handOut, replaceFile } from './hand-out.ts';

/**
 * Creates everything that compose.yaml needs before its first container starts. A second run keeps
 * existing files.
 */
const CREDENTIALS = '/credentials';
const HANDED_OUT = '/handed-out';
const NATS_CONFIG = '/nats/nats-server.conf';

const natsConfig = async (): Promise<string> =>
  renderServerConfig({
    publicKeys: await readPublicNkeys(CREDENTIALS),
    host: '0.0.0.0',
    port: 4222,
    storeDir: '/data',
    pools: poolsIn(process.env['HOLDPOINT_DEPLOYMENT_POOLS']),
    // A client that publishes a task without Holdpoint's own clients has nothing but the server's acknowledgement.
    sync: 'always',
  });

const say = (line: string) => process.stdout.write(`${line}\n`);

await refuseWrongSettings(process.env);
try {
  for (const path of await generateCredentials(CREDENTIALS)) say(`made ${path}`);
  // Public keys and permissions: nothing in it is secret.
  await replaceFile(NATS_CONFIG, await natsConfig(), 0o444);
  await handOut(CREDENTIALS, HANDED_OUT);
  say(`${join(HANDED_OUT, '*')} and ${NATS_CONFIG} are up to date`);
} catch (error) {
  process.stderr.write(`prepare: ${messageOf(error)}\n`);
  process.exit(1);
}
