import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { generateCredentials } from '@holdpoint/infra/credentials/generate';
import { findNats, natsSearchOf } from '@holdpoint/infra/local/nats/nats-program';
import { messageOf } from '@holdpoint/infra/local/problem';
import { createProgress } from '@holdpoint/infra/local/progress';
import type { TestProject } from 'vitest/node';
import { removeContainersOf, removeOrphanedContainers, requireContainers } from './containers.ts';
import { startPostgresServer } from './postgres-server.ts';
import { preparePostgres } from './prepare-postgres.ts';
import { createRunFolder, removeOrphans, removeRunFolder } from './run-folder.ts';
import type { Backend, Run } from './run.ts';

type Started = { readonly run: Run; readonly stop: () => Promise<void> };

const progress = createProgress((line) => process.stderr.write(`${line}\n`));

const wanted = (): Backend | undefined => {
  const name = process.env['HOLDPOINT_TEST_BACKEND'];
  if (name === undefined || name === '') return undefined;
  if (name === 'docker' || name === 'local') return name;
  throw new Error('HOLDPOINT_TEST_BACKEND: docker or local');
};

const startOn = async (backend: Backend): Promise<Started> => {
  const folder = await createRunFolder();
  const stop = async (): Promise<void> => {
    if (backend === 'docker') await removeContainersOf(folder);
    if (process.env['HOLDPOINT_TEST_KEEP'] === undefined) await removeRunFolder(folder);
    else progress.say(`  kept ${folder}`);
  };
  try {
    const credentialsDir = join(folder, 'credentials');
    await generateCredentials(credentialsDir);
    const nats =
      backend === 'docker'
        ? undefined
        : await findNats({ ...natsSearchOf(process.env), docker: false }, progress);
    await mkdir(join(folder, 'shared'));
    const where = { folder: join(folder, 'shared'), runFolder: folder, credentialsDir };
    const { admin } = await progress.step('starting PostgreSQL', () => startPostgresServer(backend, where));
    await preparePostgres(admin, credentialsDir);
    return { run: { backend, folder, credentialsDir, admin, nats }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
};

const startInContainers = async (): Promise<Started> => {
  await progress.step('looking for Docker and its images', requireContainers);
  await removeOrphanedContainers();
  return startOn('docker');
};

const start = async (): Promise<Started> => {
  await removeOrphans();
  const wish = wanted();
  if (wish === 'local') return startOn('local');
  try {
    return await startInContainers();
  } catch (error) {
    if (wish === 'docker') throw error;
    progress.say(`  tests run on local processes, not in containers: ${messageOf(error)}`);
    return startOn('local');
  }
};

// Every project has its own copy of this module, and they share one set of servers.
const shared = globalThis as { holdpointTests?: { started: Promise<Started>; users: number } };

export const setup = async (project: TestProject): Promise<void> => {
  const state = (shared.holdpointTests ??= { started: start(), users: 0 });
  state.users += 1;
  project.provide('holdpoint', (await state.started).run);
};

export const teardown = async (): Promise<void> => {
  const state = shared.holdpointTests;
  if (state === undefined) return;
  state.users -= 1;
  if (state.users > 0) return;
  delete shared.holdpointTests;
  await (await state.started).stop();
};
