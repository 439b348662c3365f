import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { connectOverHttp, defineEffect, type RemoteContext, startClaimant } from '@holdpoint/sdk/http';
import { remoteOverNats } from '@holdpoint/sdk/index';
import { z } from 'zod';

// A claimant as a process of its own. After `halt`, effects halt at the point that their arguments name, until `go`.

const env = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
};
const target = env('CLAIMANT_TARGET');
const leaseMs = Number(env('CLAIMANT_LEASE_MS'));

const Args = z.object({ halt: z.enum(['no', 'before', 'in', 'after']), key: z.string() });
type Args = z.infer<typeof Args>;

let isHalting = false;
let go = (): void => undefined;
let gone = Promise.resolve();
const input = createInterface({ input: process.stdin });
input.on('line', (line) => {
  go();
  isHalting = line === 'halt';
  gone = new Promise((resolve) => (go = resolve));
});
const isLeft = once(input, 'close');

/** A repeat goes on. */
const halted = new Set<string>();
const halt = async (point: Args['halt'], { key, halt: wanted }: Args): Promise<void> => {
  if (!isHalting || point !== wanted || halted.has(key)) return;
  halted.add(key);
  process.stdout.write(`halted ${key}\n`);
  await gone;
};

const isApplied = async (effectClass: string, key: string): Promise<boolean> => {
  const answer = await fetch(`${target}/${effectClass}/?key=${encodeURIComponent(key)}`);
  return z.object({ applied: z.boolean() }).parse(await answer.json()).applied;
};

const CLASSES = ['keyed', 'fenced', 'probeable', 'opaque'] as const;
const effects = CLASSES.map((effectClass) =>
  defineEffect({
    name: `${effectClass}_${env('CLAIMANT_NAME')}`,
    effectClass,
    input: Args,
    key: ({ key }) => key,
    run: async (args: Args, { epoch, key, assertInForce }: RemoteContext) => {
      await halt('before', args);
      await assertInForce();
      await halt('in', args);
      await assertInForce();
      const headers = { 'idempotency-key': key, 'holdpoint-epoch': String(epoch) };
      const body = JSON.stringify(args);
      const { ok } = await fetch(`${target}/${effectClass}/`, { method: 'POST', headers, body });
      // A fenced target refuses a change that an earlier start has made.
      if (!ok && !(await isApplied(effectClass, key))) throw new Error('the target has refused it');
      await halt('after', args);
      return {};
    },
    ...(effectClass === 'probeable' && {
      probe: async ({ key }: Args) => ((await isApplied(effectClass, key)) ? 'applied' : 'not_applied'),
    }),
  }),
);

const token = (await readFile(env('HOLDPOINT_TOKEN_FILE'), 'utf8')).trim();
const http = connectOverHttp({ url: env('HOLDPOINT_URL'), token });
// The NATS user of workers may not register.
for (const { definition } of effects) await http.register(definition);
const natsUrl = process.env['CLAIMANT_NATS_URL'];
const connection =
  natsUrl === undefined
    ? http
    : remoteOverNats({
        connection: await connectAs({
          url: natsUrl,
          credentialsDir: env('CLAIMANT_CREDENTIALS'),
          user: 'worker',
        }),
        token,
      });

const claimant = startClaimant({
  connection,
  effects,
  concurrency: Number(env('CLAIMANT_CONCURRENCY')),
  leaseMs,
  seat: env('CLAIMANT_SEAT'),
});
await claimant.ready;
process.stdout.write('ready\n');
await isLeft;
await claimant.stop();
process.exit(0);
