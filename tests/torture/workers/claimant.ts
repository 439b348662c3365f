import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { layout } from '@holdpoint/infra/credentials/layout';
import { connectOverHttp, HoldpointError, startClaimant } from '@holdpoint/sdk/http';
import { connectToBus, remoteOverNats } from '@holdpoint/sdk/index';
import { claimedEffects } from '../workload/claimed.ts';

/** Far below the time for which a fault freezes a claimant. */
const LEASE_MS = 10_000;
const CONCURRENCY = 20;
const AGAIN_MS = 500;

const [name = '', natsUrl = '', credentialsDir = '', console = '', over = ''] = process.argv.slice(2);
const files = layout(credentialsDir);

/** The bus and the services may be the broken part. */
const insist = async <T>(attempt: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof HoldpointError) || error.code !== 'RUNTIME_UNAVAILABLE') throw error;
      await sleep(AGAIN_MS);
    }
  }
};

const token = (await readFile(files.operatorToken, 'utf8')).trim();
const http = connectOverHttp({ url: console, token });
for (const { definition } of claimedEffects) await insist(() => http.register(definition));
const connection =
  over === 'http'
    ? http
    : remoteOverNats({
        connection: await insist(() => connectToBus({ url: natsUrl, seedFile: files.natsSeed('worker') })),
        token,
      });
const claimant = startClaimant({
  connection,
  effects: claimedEffects,
  name,
  concurrency: CONCURRENCY,
  leaseMs: LEASE_MS,
});
await claimant.ready;
process.stdout.write(`${JSON.stringify({ ready: name })}\n`);
