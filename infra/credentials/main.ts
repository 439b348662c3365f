import { resolve } from 'node:path';
import { generateCredentials } from './generate.ts';
import { rotateGrantKey, STEPS } from './rotate.ts';

const USAGE = `usage: node infra/credentials/main.ts <folder>
       node infra/credentials/main.ts rotate <${STEPS.join('|')}> <folder> [--early]
`;

const generate = async (dir: string): Promise<string> => {
  const created = await generateCredentials(dir);
  return created.length === 0
    ? `${dir} is complete: nothing was changed`
    : created.map((path) => `made ${path}`).join('\n');
};

const runWith = (words: readonly string[]): Promise<string> | undefined => {
  const [first, name, folder, ...more] = words;
  if (first !== 'rotate')
    return first === undefined || name !== undefined ? undefined : generate(resolve(first));
  const step = STEPS.find((each) => each === name);
  const early = more.length === 1 && more[0] === '--early';
  if (step === undefined || folder === undefined || (more.length > 0 && !early)) return undefined;
  return rotateGrantKey(resolve(folder), step, { now: Date.now(), early });
};

const running = runWith(process.argv.slice(2));
if (running === undefined) {
  process.stderr.write(USAGE);
  process.exit(64);
}
try {
  process.stdout.write(`${await running}\n`);
} catch (error) {
  process.stderr.write(`credentials: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
