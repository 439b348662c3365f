import { resolve } from 'node:path';
import { generateCredentials } from './generate.ts';
import { sealingServices } from './layout.ts';
import { rotateKey, STEPS } from './rotate.ts';

const USAGE = `usage: node infra/credentials/main.ts <folder>
       node infra/credentials/main.ts rotate <${STEPS.join('|')}> <folder> [${sealingServices.join('|')}] [--early]
`;

/** Makes missing credentials. Returns a line for each. */
export const provisionCredentials = async (dir: string): Promise<string> => {
  const created = await generateCredentials(dir);
  return created.length === 0
    ? `${dir} is complete: nothing was changed`
    : created.map((path) => `made ${path}`).join('\n');
};

const runWith = (words: readonly string[]): Promise<string> | undefined => {
  const [first, name, folder, ...more] = words;
  if (first !== 'rotate')
    return first === undefined || name !== undefined ? undefined : provisionCredentials(resolve(first));
  const step = STEPS.find((each) => each === name);
  const services = more.filter((word) => word !== '--early');
  const of = sealingServices.find((each) => each === (services[0] ?? 'approvals'));
  if (step === undefined || folder === undefined || of === undefined || services.length > 1) return undefined;
  return rotateKey(resolve(folder), step, { now: Date.now(), early: services.length < more.length }, of);
};

if (import.meta.main) {
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
}
