import { connectToBus, startWorker } from '@holdpoint/sdk';
import { standIn } from './writer.ts';
import { supportReply } from './workflow.ts';

const {
  HOLDPOINT_NATS_URL: url = 'nats://127.0.0.1:4222',
  HOLDPOINT_NATS_SEED_FILE: seedFile = '.holdpoint/data/credentials/nats/worker.seed',
} = process.env;

const connection = await connectToBus({ url, seedFile, user: 'worker' });
const worker = startWorker({ connection, workflows: [supportReply(standIn)] });
await worker.ready;
process.stdout.write(`works on support-reply (${worker.hashes.join(', ')}); Ctrl-C stops it\n`);
// SIGTERM and SIGINT stop it: running phases finish or are handed back.
await worker.stopped;
await connection.drain();
