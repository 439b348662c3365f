import { connectToBus, createClient } from '@holdpoint/sdk';
import { standIn } from './store.ts';
import { dataMigration } from './workflow.ts';

const {
  HOLDPOINT_NATS_URL: url = 'nats://127.0.0.1:4222',
  HOLDPOINT_NATS_SEED_FILE: seedFile = '.holdpoint/data/credentials/nats/operator.seed',
} = process.env;

const connection = await connectToBus({ url, seedFile, user: 'operator' });
const client = createClient({ connection });
const table = process.argv[2] ?? 'customers';
const task = await client.start(dataMigration(standIn), { table }, { goal: `Migrate ${table}` });
process.stdout.write(`started ${task.id}\n`);
for await (const event of task.events()) {
  const about = 'phase' in event ? ` ${event.phase}` : '';
  const asks = event.name === 'input:requested' ? `: ${event.question.title} (${event.approval})` : '';
  process.stdout.write(`${event.name}${about}${asks}\n`);
}
process.stdout.write(`${JSON.stringify(await task.result())}\n`);
await connection.drain();
