import { setTimeout as sleep } from 'node:timers/promises';
import { layout } from '@holdpoint/infra/credentials/layout';
import { connectToBus, HoldpointError, startWorker } from '@holdpoint/sdk';
import type { NatsConnection } from '@nats-io/transport-node';
import { countedProgram } from '../workload/program.ts';

/** More than the number of programs, so that a waiting one blocks no other. */
const CONCURRENCY = 20;
/** Programs mostly wait for people: a short park time moves them between workers. */
const PARK_MS = 500;
const AGAIN_MS = 500;

const [name = '', url = '', credentialsDir = ''] = process.argv.slice(2);

/** The bus may be the broken part. */
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
