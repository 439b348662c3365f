import { resolve } from 'node:path';
import { generateCredentials } from './generate.ts';

const [dir] = process.argv.slice(2);
if (dir === undefined) {
  process.stderr.write('usage: node infra/credentials/main.ts <folder>\n');
  process.exit(64);
}
try {
  const created = await generateCredentials(resolve(dir));
  for (const path of created) process.stdout.write(`made ${path}\n`);
  if (created.length === 0) process.stdout.write(`${resolve(dir)} is complete: nothing was changed\n`);
} catch (error) {
  process.stderr.write(`credentials: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
