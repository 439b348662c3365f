import { EndPhase, isEndPhase } from '@holdpoint/contracts/task/status';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignedIn } from '@holdpoint/contracts/approval/sign-in';
import { WATCH_PATH } from '@holdpoint/contracts/approval/watch';
import { TaskId } from '@holdpoint/contracts/values/ids';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { TaskView } from '@holdpoint/contracts/task/views';
import { selfSigned } from '@holdpoint/executor/testing/self-signed';
import { connectToBus, createClient } from '@holdpoint/sdk';
import { startChild } from '@holdpoint/infra/local/process/child';
import { root } from '@holdpoint/infra/local/folders';
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest';
import { WebSocket } from 'ws';
import { parse } from 'yaml';
import { z } from 'zod';
import { callHttp } from '../../kit/console/web.ts';
import { newTaskId, sampleTask } from '../../kit/tasks/tasks.ts';
import type { SampleTask } from '../../kit/tasks/tasks.ts';
import { Hopeless, until, untilTrue } from '../../kit/until.ts';
import { hello } from './hello.ts';
import { liberties, Manifest, secretHolders } from './manifest.ts';
import { createComposeProject, whyNoCompose } from './project.ts';
import type { ComposeProject } from './project.ts';
import { callTls, startTlsProxy } from './tls-proxy.ts';

const obstacle = await whyNoCompose();
if (obstacle !== undefined)
  process.stderr.write(`compose: skipped, because there is no Docker engine: ${obstacle}\n`);

/** An override file of the guide. */
const Override = z.object({ services: z.record(z.string(), z.looseObject({})) });

const Pending = z.object({
  items: z.array(z.object({ id: z.string(), effect: z.object({ args: z.looseObject({}) }) })),
});

const BUILT_WITHIN_MS = 20 * 60_000;

describe.skipIf(obstacle !== undefined)('the system with Docker Compose', () => {
  let system: ComposeProject;

  const allReady = () =>
    Promise.all(
      SERVICES.map((service) => untilTrue(`${service} is ready`, () => system.isReady(service), 120_000)),
    );

  beforeAll(async () => {
    system = await createComposeProject();
    await system.up();
    await allReady();
  }, BUILT_WITHIN_MS);

  afterAll(async () => {
    await system.remove();
  }, 120_000);

  const showLogsOnFailure = () =>
    onTestFailed(async () => {
      process.stderr.write(await system.compose(['logs', '--no-color', '--tail', '40']));
    });

  const submit = async (): Promise<SampleTask> => {
    const task = sampleTask(newTaskId());
    const input = ['--input', 'file=sample.txt', '--input', `line=${task.line}`];
    const args = ['--id', task.id, '--workflow', 'sample', '--goal', 'append a line', ...input, '--json'];
    const answer = z.object({ id: TaskId }).parse(JSON.parse(await system.cli('task', 'submit', ...args)));
    expect(answer.id).toBe(task.id);
    return task;
  };

  const phaseOf = async (task: SampleTask): Promise<string> =>
    TaskView.parse(JSON.parse(await system.cli('task', 'show', task.id, '--json'))).phase;

  const reaches = (task: SampleTask, phase: string) =>
    until(
      `task ${task.id} is ${phase}`,
      async () => {
        const now = await phaseOf(task);
        if (now !== phase && isEndPhase(now)) throw new Hopeless(`task ${task.id} is ${now}, not ${phase}`);
        return now === phase ? now : undefined;
      },
      120_000,
    );

  const approve = (task: SampleTask) =>
    until(`${task.approval} is approved`, () => system.cli('approval', 'approve', task.approval), 60_000);

  /** The lines with the key of the task's effect in the file in the executor's workspace. */
  const timesApplied = async (task: SampleTask): Promise<number> => {
    const text = await system.run('executor', 'sh', '-c', 'cat /workspace/sample.txt 2>/dev/null || true');
    return text.split('\n').filter((line) => line.includes(task.line)).length;
  };

  test('containers have only the rights that they need', async () => {
    const manifest = Manifest.parse(JSON.parse(await system.compose(['config', '--format', 'json'])));
    const services = Object.entries(manifest.services);
    expect(services.map(([name]) => name)).toEqual(
      expect.arrayContaining([...SERVICES, 'nats', 'postgres', 'cli']),
    );
    expect(services.flatMap(([name, service]) => liberties(name, service))).toEqual([]);
    expect(secretHolders(manifest)).toEqual({
      credentials: ['provision'],
      'secrets-approvals': ['approvals'],
      'secrets-executor': ['executor'],
      'secrets-operator': ['cli'],
      'secrets-orchestrator': ['orchestrator'],
      'secrets-postgres': ['postgres'],
      'secrets-recovery': ['recovery'],
      // This network is for program workers, whose containers belong to their authors.
      'secrets-worker': [],
    });
    expect(Object.keys(manifest.services['postgres']?.networks ?? {})).toEqual(['data']);
    expect(Object.keys(manifest.services['cli']?.networks ?? {})).toEqual(['bus']);
  });

  test.each(SERVICES)(
    '%s reports to Docker that it is healthy, and runs without privileges',
    async (service) => {
      await untilTrue(
        `${service} is healthy`,
        async () => (await system.inspect(service, '{{.State.Health.Status}}')) === 'healthy',
      );
      expect((await system.run(service, 'id', '-u')).trim()).toBe('1000');
      await expect(system.run(service, 'touch', '/app/here')).rejects.toThrow('Read-only file system');
    },
  );

  test('a task waits at its gate, is approved, runs once and completes', async () => {
    showLogsOnFailure();
    const task = await submit();
    await reaches(task, 'awaiting_approval');
    expect(await timesApplied(task)).toBe(0);
    await approve(task);
    await reaches(task, 'completed');
    expect(await timesApplied(task)).toBe(1);
  });

  describe('the guide', () => {
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'holdpoint-compose-guide-'));
    });
    afterAll(() => rm(folder, { recursive: true }));

    /** The secret of a person in the container of the command line, read as the guide says. */
    const secretIn = async (file: string): Promise<string> =>
      (
        await system.compose([
          'run',
          '--rm',
          '--no-TTY',
          '--entrypoint',
          'cat',
          'cli',
          `/run/holdpoint/${file}`,
        ])
      ).trim();

    /** The override file of the guide with this service. Files of compose may be JSON. */
    const overrideOf = async (service: string, change: object): Promise<string> => {
      const page = await readFile(join(root, 'infra/compose/README.md'), 'utf8');
      const [documented] = [...page.matchAll(/^```yaml\n([^]*?)^```/gm)].flatMap(([, text = '']) => {
        const { services } = Override.parse(parse(text));
        return services[service] ?? [];
      });
      if (documented === undefined) throw new Error(`the guide has no override of ${service}`);
      const file = join(folder, `${service}.json`);
      await writeFile(file, JSON.stringify({ services: { [service]: { ...documented, ...change } } }));
      return file;
    };

    const linkFor = async (address: string): Promise<string> => {
      const link = new URL((await system.cli('console', '--url', address)).trim());
      expect(link.origin + link.pathname).toBe(address);
      return link.hash.replace('#/sign-in/', '');
    };

    test('the link of the guide signs in to the console once', async () => {
      const port = system.ports.approvals;
      const code = await linkFor(`http://127.0.0.1:${String(port)}/`);
      const redeem = () => callHttp(port, '/console/sign-in/code', { method: 'POST', body: { code } });
      const { token } = SignedIn.parse((await redeem()).body);
      expect((await callHttp(port, '/api/v1/whoami', { token })).body).toMatchObject({ name: 'operator' });
      expect((await redeem()).status).toBe(401);
    });

    test('a person who is added decides a request with their token', async () => {
      showLogsOnFailure();
      const added = await system.cli('people', 'add', 'ada', '--group', 'operators', '--json');
      const { secret: token } = z.object({ secret: z.string() }).parse(JSON.parse(added));
      const task = await submit();
      await reaches(task, 'awaiting_approval');
      const at = `/api/v1/approvals/${task.approval}`;
      const request = await until('ada sees the request', async () => {
        const { status, body } = await callHttp(system.ports.approvals, at, { token });
        return status === 200 ? body : undefined;
      });
      const decision = { decision: 'approve', digest: request['digest'] };
      const decide = { method: 'POST', token, body: decision };
      expect(await callHttp(system.ports.approvals, `${at}/decisions`, decide)).toMatchObject({
        body: { status: 'approved', by: 'ada' },
      });
      await reaches(task, 'completed');
      expect(await timesApplied(task)).toBe(1);
      await system.cli('people', 'remove', 'ada');
      await untilTrue(
        'the token is refused',
        async () => (await callHttp(system.ports.approvals, at, { token })).status === 401,
      );
    });

    test('a worker on the network of the bus holds an effect until it is approved', async () => {
      showLogsOnFailure();
      const program = [
        await readFile(join(import.meta.dirname, 'hello.ts'), 'utf8'),
        "import { connectToBus, startWorker } from '@holdpoint/sdk';",
        'const { HOLDPOINT_NATS_URL: url, HOLDPOINT_NATS_SEED_FILE: seedFile } = process.env;',
        "const connection = await connectToBus({ url, seedFile, user: 'worker' });",
        'await startWorker({ connection, workflows: [hello] }).stopped;',
      ].join('\n');
      const file = await overrideOf('worker', {
        image: 'holdpoint:local',
        entrypoint: ['node', '--input-type=module', '--eval', program],
        working_dir: '/app/packages/sdk',
      });
      await system.compose(['up', '--detach', '--no-build', 'worker'], { files: [file] });
      const seedFile = join(folder, 'operator.seed');
      await writeFile(seedFile, await secretIn('nats.seed'), { mode: 0o600 });
      const token = await secretIn('operator.token');
      const url = `nats://127.0.0.1:${String(system.ports.nats)}`;
      const connection = await connectToBus({ url, seedFile, user: 'operator' });
      try {
        const task = await createClient({ connection, token }).start(hello, { line: 'from a container' });
        const lines = async (): Promise<readonly string[]> => {
          const text = await system.run(
            'executor',
            'sh',
            '-c',
            'cat /workspace/worker.txt 2>/dev/null || true',
          );
          return text.split('\n').filter((line) => line.includes('FROM A CONTAINER'));
        };
        const approval = await until(
          'the effect waits',
          async () => {
            const { body } = await callHttp(system.ports.approvals, '/api/v1/approvals', { token });
            // The effect of a program is a task of its own.
            return Pending.parse(body).items.find(({ effect }) => effect.args['line'] === 'FROM A CONTAINER');
          },
          120_000,
        );
        expect(await lines()).toEqual([]);
        await system.cli('approval', 'approve', approval.id);
        expect(await task.result()).toBe('FROM A CONTAINER');
        expect(await lines()).toHaveLength(1);
      } finally {
        await connection.drain();
        await system.compose(['rm', '--force', '--stop', 'worker'], { files: [file] });
      }
    });

    test('the console signs in through a proxy with TLS, whose address the service must allow', async () => {
      showLogsOnFailure();
      const origin = 'https://holdpoint.example';
      const proxy = await startTlsProxy(system.ports.approvals);
      const token = await secretIn('operator.token');
      const watch = (): Promise<number> =>
        new Promise((resolve, reject) => {
          const socket = new WebSocket(`wss://localhost:${String(proxy.port)}${WATCH_PATH}`, {
            ca: selfSigned.cert,
            headers: { origin, authorization: `Bearer ${token}` },
          });
          socket.on('error', reject);
          socket.on('unexpected-response', (request, { statusCode = 0 }) => {
            resolve(statusCode);
            request.destroy();
          });
          socket.on('open', () => {
            socket.terminate();
            resolve(101);
          });
        });
      try {
        expect(await watch()).toBe(403);
        const file = await overrideOf('approvals', {});
        await system.compose(['up', '--detach', '--no-build', '--no-deps', 'approvals'], { files: [file] });
        await allReady();
        const code = await linkFor(`${origin}/`);
        const headers = { origin };
        const redeem = { method: 'POST', headers, body: { code } };
        const signedIn = await callTls(proxy.port, '/console/sign-in/code', redeem);
        const session = SignedIn.parse(JSON.parse(signedIn.body));
        const me = await callTls(proxy.port, '/api/v1/whoami', {
          headers: { ...headers, authorization: `Bearer ${session.token}` },
        });
        expect(JSON.parse(me.body)).toMatchObject({ name: 'operator' });
        expect((await callTls(proxy.port, '/')).body).toContain('<title>');
        expect(
          await until('approvals allows the origin', async () => ((await watch()) === 101 ? 101 : undefined)),
        ).toBe(101);
      } finally {
        await proxy.stop();
      }
    });
  });

  test('a killed executor runs the effect once after a restart', async () => {
    showLogsOnFailure();
    const task = await submit();
    await reaches(task, 'awaiting_approval');
    await system.kill('executor');
    await approve(task);
    expect(EndPhase.options).not.toContain(await phaseOf(task));
    await system.compose(['up', '--detach', '--no-build', 'executor']);
    await reaches(task, 'completed');
    expect(await timesApplied(task)).toBe(1);
  });

  test('Docker restarts a crashed orchestrator, and its task completes', async () => {
    showLogsOnFailure();
    const task = await submit();
    await reaches(task, 'awaiting_approval');
    const starts = Number(await system.inspect('orchestrator', '{{.RestartCount}}'));
    // This kills all processes but the first, like a kernel failure. Docker restarts a container whose
    // process ends by itself, but not after `docker kill`. The exit code of this command means nothing: it
    // may end with the container.
    await system.run('orchestrator', 'sh', '-c', 'kill -KILL -1').catch(() => undefined);
    await untilTrue(
      'the container is restarted',
      async () => Number(await system.inspect('orchestrator', '{{.RestartCount}}')) > starts,
    );
    await approve(task);
    await reaches(task, 'completed');
    expect(await timesApplied(task)).toBe(1);
  });

  test('waiting tasks continue after `down` and `up`', async () => {
    showLogsOnFailure();
    const task = await submit();
    await reaches(task, 'awaiting_approval');
    await system.compose(['down']);
    await system.compose(['up', '--detach', '--no-build']);
    await allReady();
    await approve(task);
    await reaches(task, 'completed');
    expect(await timesApplied(task)).toBe(1);
  });

  test('a short torture by an operator breaks no promise', { timeout: 300_000 }, async () => {
    showLogsOnFailure();
    await allReady();
    const folder = await mkdtemp(join(tmpdir(), 'holdpoint-compose-torture-'));
    try {
      const main = join(root, 'tests', 'torture', 'main.ts');
      const what = ['--target', 'compose', '--project', system.name, '--yes-break-it'];
      const how = [
        // An attack during an outage proves nothing, and fails a run of so few faults.
        '--faults',
        'process,nats,postgres,message,upgrade',
        '--duration',
        '20s',
        '--rate',
        '5',
        '--fault-every',
        '3s',
        '--settle',
        '120s',
        '--data',
        folder,
      ];
      const logFile = join(folder, 'torture.log');
      const child = await startChild({
        name: 'torture',
        command: process.execPath,
        args: [main, ...what, ...how],
        logFile,
      });
      const { code } = await child.exited;
      expect(code, await readFile(logFile, 'utf8')).toBe(0);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
