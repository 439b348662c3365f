import { setTimeout as sleep } from 'node:timers/promises';
import { layout } from '@holdpoint/infra/credentials/layout';
import { connectToBus, HoldpointError, startWorker } from '@holdpoint/sdk';
import type { NatsConnection } from '@nats-io/transport-node';
import { countedProgram } from '../workload/program.ts';

/** More than there are programs at a time, so that one that waits holds up nobody. */
const CONCURRENCY = 20;
/** Most of their time programs wait for people: they are given back soon, and so change workers often. */
const PARK_MS = 500;
const AGAIN_MS = 500;

const [name = '', url = '', credentialsDir = ''] = process.argv.slice(2);

/** The bus may be what is broken at this moment. */
const connect = async (): Promise<NatsConnection> => {
  for (;;) {
    try {
      return await connectToBus({ url, seedFile: layout(credentialsDir).natsSeed('worker') });
    } catch (error) {
      if (!(error instanceof HoldpointError) || error.code !== 'RUNTIME_UNAVAILABLE') throw error;
      await sleep(AGAIN_MS);
    }
  }
};

const connection = await connect();
const worker = startWorker({
  connection,
  workflows: [countedProgram],
  concurrency: CONCURRENCY,
  name,
  parkMs: PARK_MS,
});
await worker.ready;
process.stdout.write(`${JSON.stringify({ ready: name })}\n`);
await worker.stopped;
await connection.close();
