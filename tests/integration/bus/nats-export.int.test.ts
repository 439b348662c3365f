import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { streams } from '@holdpoint/contracts/bus/streams';
import { root } from '@holdpoint/infra/local/folders';
import { startChild } from '@holdpoint/infra/local/process/child';
import { choosePorts } from '@holdpoint/infra/local/ports';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { keepTopology } from '@holdpoint/runtime/bus/keep-topology';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { describe, expect, onTestFinished, test } from 'vitest';
import { documentedIn } from '../../e2e/documents/command-lines.ts';
import { programOf } from '../../kit/stack/nats-cluster.ts';
import { currentRun } from '../../kit/stack/run.ts';
import { until, untilTrue } from '../../kit/until.ts';

const GUIDE = 'docs/deployment.md';
const program = programOf(currentRun());
const CREDENTIALS = '.holdpoint/data/credentials';

const section = async (): Promise<string> => {
  const [, text = ''] =
    /\n## An existing NATS\n(.*?)\n## /s.exec(await readFile(join(root, GUIDE), 'utf8')) ?? [];
  return text;
};

/** The documented commands, as a reader types them in an empty folder. */
const exportsIn = async (form: string): Promise<readonly (readonly string[])[]> =>
  documentedIn(GUIDE, await section())
    .map(({ words }) => words)
    .filter(([, command, , , as]) => command === 'nats' && as === form);

const enter = (folder: string, words: readonly string[]): string => {
  const command = join(root, 'packages/cli/bin/holdpoint.mjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...words.slice(1)], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
  return stdout;
};

/** The block of the guide that includes the accounts. */
const documentedConfig = async (): Promise<string> => {
  return /```\n(max_payload[^`]+)```/.exec(await section())?.[1] ?? '';
};

const connected = async (connection: Promise<NatsConnection>): Promise<NatsConnection> => {
  const made = await connection;
  onTestFinished(() => made.close());
  return made;
};

const folderOfReader = (): Promise<string> => mkdtemp(join(currentRun().folder, 'reader-'));

describe.skipIf(program === undefined)('with a server as a process', () => {
  test(
    'a server of others includes two exports, and gives another account the subjects with its prefix',
    { timeout: 180_000 },
    async () => {
      if (program === undefined) throw new Error('the run has no program nats-server');
      const folder = await folderOfReader();
      const [plain, withGuest] = await exportsIn('config');
      if (plain === undefined || withGuest === undefined) throw new Error(`${GUIDE} documents no export`);
      expect(enter(folder, plain)).toContain('wrote nats-export/holdpoint-accounts.conf');
      enter(folder, withGuest);
      const second = [
        ...plain.slice(0, -1),
        'second',
        '--name',
        'SECOND',
        '--credentials',
        'second-credentials',
      ];
      enter(folder, second);

      const { nats: port } = await choosePorts();
      const config = (await documentedConfig()).replace(
        /\}\n$/,
        '  include "second/holdpoint-accounts.conf"\n' +
          '  ACME { jetstream: enabled, users: [{ user: acme, password: acme }], include "nats-export/guest-ACME.conf" }\n}\n',
      );
      await writeFile(
        join(folder, 'nats-server.conf'),
        `listen: "127.0.0.1:${String(port)}"\njetstream { store_dir: ${JSON.stringify(folder)} }\n${config}`,
      );
      const server = await startChild({
        name: 'nats',
        command: program.path,
        args: ['-c', join(folder, 'nats-server.conf')],
        logFile: join(folder, 'nats.log'),
      });
      onTestFinished(async () => void (await server.stop([['SIGTERM', 10_000]])));
      const url = `nats://127.0.0.1:${String(port)}`;
      const acme = await connected(
        until('the server serves', () => connect({ servers: url, user: 'acme', pass: 'acme' })),
      );

      const managers = [];
      for (const credentials of [CREDENTIALS, 'second-credentials']) {
        const as = { url, credentialsDir: join(folder, credentials), user: 'topology' } as const;
        const connection = await connected(connectAs(as));
        (await keepTopology({ connection, log: silentLogger() })).stop();
        managers.push(await jetstreamManager(connection, { checkAPI: false }));
      }
      const [first, other] = managers;
      if (first === undefined || other === undefined) throw new Error('there are two Holdpoints');

      const heard: string[] = [];
      acme.subscribe('>', { callback: (_error, message) => void heard.push(message.subject) });
      const taken = await acme.request('acme.hp.cmd.task.submit', '{}', { timeout: 5_000 });
      expect(taken.json()).toMatchObject({ stream: 'HP_IN', seq: 1 });
      expect((await first.streams.info('HP_IN')).state.messages).toBe(1);
      const orchestrator = await connected(
        connectAs({ url, credentialsDir: join(folder, CREDENTIALS), user: 'orchestrator' }),
      );
      orchestrator.publish('hp.evt.task.completed.t-1', '{}');
      await untilTrue('the other account hears the event', () =>
        heard.includes('acme.hp.evt.task.completed.t-1'),
      );
      acme.publish('hp.cmd.task.submit', '{}');
      acme.publish('acme.hp.cmd.approval.request', '{}');
      await acme.flush();
      expect((await first.streams.info('HP_CMD')).state.messages).toBe(0);
      for (const { name } of streams)
        expect([name, (await other.streams.info(name)).state.messages]).toEqual([name, 0]);
    },
  );
});

test(
  'the exported files hold no seed, and a second export changes no login',
  { timeout: 180_000 },
  async () => {
    const folder = await folderOfReader();
    const [asJwts = []] = await exportsIn('jwt');
    const printed = enter(folder, asJwts);
    const documented = documentedIn(GUIDE, await section())
      .map(({ line }) => line)
      .filter((line) => line.startsWith('nsc '));
    expect(
      printed
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line.startsWith('nsc ')),
    ).toEqual(documented);

    const out = join(folder, 'nats-export');
    for (const name of await readdir(out)) {
      const text = await readFile(join(out, name), 'utf8');
      const bodies = text.split('.').map((part) => Buffer.from(part, 'base64url').toString('utf8'));
      expect(`${text}${bodies.join('')}`).not.toMatch(/\bS[OAU][A-Z2-7]{56}\b/);
    }
    const credsOf = async (): Promise<readonly (string | undefined)[]> => {
      const text = await readFile(join(folder, CREDENTIALS, 'nats', 'approvals.creds'), 'utf8');
      const [, claims = '', seed] = /\.([\w-]+)\..*SEED-+\n(\w+)/s.exec(text) ?? [];
      const { iss, sub } = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')) as Record<
        string,
        string
      >;
      return [iss, sub, seed];
    };
    const before = await credsOf();
    enter(folder, asJwts);
    expect(await credsOf()).toEqual(before);
  },
);
