import { writeFileSync } from 'node:fs';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { startWorker } from '@holdpoint/sdk';
import { nameFor, type Part, programOfEveryPart } from './program-of-every-part.ts';

// A worker as a process of its own, which exits once without a message in the named part.
const [url = '', credentialsDir = '', part = '', file = ''] = process.argv.slice(2);

const die = (): void => {
  try {
    writeFileSync(file, part, { flag: 'wx' });
  } catch {
    // It died there before.
    return;
  }
  process.kill(process.pid, 'SIGKILL');
};

const connection = await connectAs({ url, credentialsDir, user: 'worker' });
const worker = startWorker({
  connection,
  workflows: [programOfEveryPart(nameFor(part), (at: Part) => at === part && die())],
  parkMs: 300,
});
await worker.stopped;
await connection.close();
