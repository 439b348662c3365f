import { connectToBus, createClient } from '@holdpoint/sdk';
import { standIn } from './writer.ts';
import { supportReply } from './workflow.ts';

const {
  HOLDPOINT_NATS_URL: url = 'nats://127.0.0.1:4222',
  HOLDPOINT_NATS_SEED_FILE: seedFile = '.holdpoint/data/credentials/nats/operator.seed',
} = process.env;

const connection = await connectToBus({ url, seedFile, user: 'operator' });
const client = createClient({ connection });
const [customer = 'Ada', question = 'when do you open?'] = process.argv.slice(2);
const task = await client.start(
  supportReply(standIn),
  { customer, question },
  { goal: `Answer ${customer}` },
);
process.stdout.write(`started ${task.id}\n`);
for await (const event of task.events()) {
  const about = 'phase' in event ? ` ${event.phase}` : '';
  const asks = event.name === 'input:requested' ? `: ${event.question.title} (${event.approval})` : '';
  process.stdout.write(`${event.name}${about}${asks}\n`);
}
process.stdout.write(`${JSON.stringify(await task.result())}\n`);
await connection.drain();
