import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TaskId } from '@holdpoint/contracts/values/ids';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { TaskView } from '@holdpoint/contracts/task/views';
import { startChild } from '@holdpoint/infra/local/process/child';
import { root } from '@holdpoint/infra/local/folders';
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest';
import { z } from 'zod';
import { newTaskId, sampleTask } from '../../kit/tasks/tasks.ts';
import type { SampleTask } from '../../kit/tasks/tasks.ts';
import { Hopeless, until, untilTrue } from '../../kit/until.ts';
import { liberties, Manifest, secretHolders } from './manifest.ts';
import { createComposeProject, whyNoCompose } from './project.ts';
import type { ComposeProject } from './project.ts';

const obstacle = await whyNoCompose();
if (obstacle !== undefined)
  process.stderr.write(`compose: skipped, because there is no Docker engine: ${obstacle}\n`);

const BUILT_WITHIN_MS = 20 * 60_000;
const ENDED = new Set(['completed', 'failed', 'cancelled']);

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
        if (now !== phase && ENDED.has(now)) throw new Hopeless(`task ${task.id} is ${now}, not ${phase}`);
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

  test('a killed executor runs the effect once after a restart', async () => {
    showLogsOnFailure();
    const task = await submit();
    await reaches(task, 'awaiting_approval');
    await system.kill('executor');
    await approve(task);
    expect(ENDED).not.toContain(await phaseOf(task));
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
