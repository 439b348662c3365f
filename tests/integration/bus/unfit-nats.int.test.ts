import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { busFindings, inspectBus } from '@holdpoint/cli/admin/doctor/bus';
import { natsLoginFile, readPublicNkeys } from '@holdpoint/infra/credentials/read';
import { startNats } from '@holdpoint/infra/local/nats/configured-nats';
import { choosePorts } from '@holdpoint/infra/local/ports';
import { busAccess } from '@holdpoint/infra/nats/accounts';
import { accountsText } from '@holdpoint/infra/nats/config';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { connectBus } from '@holdpoint/runtime/bus/connection';
import { keepTopology } from '@holdpoint/runtime/bus/keep-topology';
import type { NatsConnection } from '@nats-io/transport-node';
import { expect, onTestFinished, test } from 'vitest';
import { programOf } from '../../kit/stack/nats-cluster.ts';
import { currentRun } from '../../kit/stack/run.ts';

const run = currentRun();
const { credentialsDir } = run;
const program = programOf(run);

type Fault = { readonly change?: (accounts: string) => string; readonly extraConfig?: string };

/** A server with Holdpoint's accounts, changed as a careless administrator would. */
const startUnfit = async ({ change = (text) => text, extraConfig = '' }: Fault): Promise<string> => {
  if (program === undefined) throw new Error('the run has no program nats-server');
  const folder = await mkdtemp(join(run.folder, 'unfit-'));
  const text = accountsText(busAccess(), await readPublicNkeys(credentialsDir), 1);
  const server = await startNats({
    program,
    credentialsDir,
    dir: join(folder, 'nats'),
    port: (await choosePorts()).nats,
    logFile: join(folder, 'nats.log'),
    accounts: `accounts {\n${change(text)}\n SYS { }\n}\nsystem_account: SYS\n`,
    extraConfig,
  });
  onTestFinished(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });
  return server.url;
};

const connectAsService = async (url: string, user: string, login: 'approvals' | 'topology') => {
  const seed = await readFile(natsLoginFile(credentialsDir, login));
  const connection: NatsConnection = await connectBus({ url, seed, user }, silentLogger());
  onTestFinished(() => connection.close());
  return connection;
};

/** The code with which the service that makes streams, or else approvals, does not start. */
const startFailure = async (url: string): Promise<unknown> => {
  try {
    const connection = await connectAsService(url, 'topology', 'topology');
    (await keepTopology({ connection, log: silentLogger() })).stop();
    await connectAsService(url, 'approvals', 'approvals');
    return 'it starts';
  } catch (error) {
    return error;
  }
};

const doctorFailures = async (url: string) => {
  const connection = await connectAs({ url, credentialsDir, user: 'operator' });
  try {
    return busFindings(await inspectBus(connection)).filter(({ status }) => status === 'fail');
  } finally {
    await connection.close();
  }
};

const withoutImports = (account: string) => (text: string) =>
  text.replace(new RegExp(`(\\n  ${account} \\{.*?)\\n    imports: \\[.*?\\n    \\]`, 's'), '$1');

/** With the code of the start, and that of the doctor: its account has no JetStream of its own. */
test.skipIf(program === undefined).each<readonly [string, Fault, string, string | undefined]>([
  [
    'without JetStream',
    { extraConfig: 'jetstream: disabled\n' },
    'BUS_JETSTREAM_MISSING',
    'BUS_JETSTREAM_MISSING',
  ],
  [
    'whose account of streams has no JetStream',
    { change: (text) => text.replace(/\n    jetstream: .*/, '') },
    'BUS_JETSTREAM_MISSING',
    'BUS_IMPORT_MISSING',
  ],
  [
    'that allows too little disk',
    { change: (text) => text.replace(/max_file: \d+MB/, 'max_file: 1500MB') },
    'BUS_LIMITS_TOO_LOW',
    'BUS_LIMITS_TOO_LOW',
  ],
  [
    'that allows too few streams',
    { change: (text) => text.replace(/max_streams: \d+/, 'max_streams: 2') },
    'BUS_LIMITS_TOO_LOW',
    'BUS_LIMITS_TOO_LOW',
  ],
  [
    'that allows too few consumers',
    { change: (text) => text.replace(/max_consumers: \d+/, 'max_consumers: 1') },
    'BUS_LIMITS_TOO_LOW',
    'BUS_LIMITS_TOO_LOW',
  ],
  [
    'that allows small messages only',
    { extraConfig: 'max_payload: 1MB\n' },
    'BUS_LIMITS_TOO_LOW',
    'BUS_LIMITS_TOO_LOW',
  ],
  [
    'whose account of approvals imports nothing',
    { change: withoutImports('APPROVALS') },
    'BUS_IMPORT_MISSING',
    undefined,
  ],
])(
  'a NATS %s is refused at the start with a remedy',
  { timeout: 180_000 },
  async (_how, fault, code, found) => {
    const url = await startUnfit(fault);
    const failure = await startFailure(url);
    expect(failure).toMatchObject({ code });
    expect(String(failure)).toMatch(/: .*(allow|set|enable|import)/);
    expect(String(failure).length).toBeLessThanOrEqual(90 + 'HoldpointError: '.length);
    if (found === undefined) return;
    const messages = (await doctorFailures(url)).map(({ message }) => message);
    expect(messages.some((message) => message.startsWith(`${found}: `))).toBe(true);
  },
);

test.skipIf(program === undefined)('the doctor reports missing imports of its own account', async () => {
  const url = await startUnfit({ change: withoutImports('OPERATOR') });
  expect(await doctorFailures(url)).toContainEqual(
    expect.objectContaining({
      message: 'BUS_IMPORT_MISSING: the account of operator reaches no stream',
      action: 'import `holdpoint nats export` again',
    }),
  );
});

test.skipIf(program === undefined)('a NATS with the exported accounts is fit', async () => {
  const url = await startUnfit({});
  expect(await startFailure(url)).toBe('it starts');
  expect(await doctorFailures(url)).toEqual([]);
});
