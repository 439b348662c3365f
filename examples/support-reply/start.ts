import { readFile } from 'node:fs/promises';
import { connectToBus, createClient } from '@holdpoint/sdk';
import { standIn } from './writer.ts';
import { supportReply } from './workflow.ts';

const {
  HOLDPOINT_NATS_URL: url = 'nats://127.0.0.1:4222',
  HOLDPOINT_NATS_SEED_FILE: seedFile = '.holdpoint/data/credentials/nats/operator.seed',
  HOLDPOINT_TOKEN_FILE: tokenFile = '.holdpoint/data/credentials/operator.token',
} = process.env;

const connection = await connectToBus({ url, seedFile, user: 'operator' });
// The token proves who the requester is: without one, four eyes need two approvers.
const token = (await readFile(tokenFile, 'utf8')).trim();
const client = createClient({ connection, token });
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
