import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { root } from '@holdpoint/infra/local/folders';
import { mainFile } from '@holdpoint/infra/local/process/services';
import { layout } from '@holdpoint/infra/credentials/layout';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSystem, type System } from '../../kit/stack/system.ts';

let system: System;
beforeAll(async () => {
  system = await createSystem();
});
afterAll(() => system.stop());

type Ended = { readonly code: number | null; readonly err: string };

/** Runs a service with wrong settings until it exits. */
const run = (service: ServiceName, env: NodeJS.ProcessEnv): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [mainFile(root, service), system.folder], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let err = '';
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, err }));
  });

const common = ['HOLDPOINT_NATS_URL', 'HOLDPOINT_DATABASE_URL', 'HOLDPOINT_TRUST_FILE'] as const;
const needed: readonly (readonly [ServiceName, readonly string[]])[] = [
  ['orchestrator', common],
  ['approvals', [...common, 'HOLDPOINT_GRANT_KEY_FILE', 'HOLDPOINT_PRINCIPALS_FILE']],
  ['executor', [...common, 'HOLDPOINT_WORKSPACE']],
  ['recovery', common],
];

test.each(needed)(
  'the %s without settings ends with 78 and one line that names all missing settings',
  async (service, variables) => {
    const { code, err } = await run(service, { PATH: process.env['PATH'] });
    expect(code).toBe(78);
    expect(err.trimEnd().split('\n')).toHaveLength(1);
    for (const variable of variables) expect(err).toContain(variable);
  },
);

test.each([
  ['HOLDPOINT_NATS_URL', 'http://127.0.0.1'],
  ['HOLDPOINT_DATABASE_URL', 'mysql://127.0.0.1/x'],
  ['HOLDPOINT_HTTP_PORT', '70000'],
  ['HOLDPOINT_LOG_LEVEL', 'loud'],
  ['HOLDPOINT_BATCH_MAX', '0'],
  ['HOLDPOINT_TEST_CRASH_POINT', 'sometimes'],
  ['HOLDPOINT_DATABASE_PASSWORD_FILE', '/nonexistent/password'],
  ['HOLDPOINT_NATS_SEED_FILE', '/nonexistent/seed'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'sesame'],
  ['OTEL_TRACES_SAMPLER', 'every-second-one'],
])('a wrong %s is named without its value', async (variable, value) => {
  // All services read these settings in the same way.
  const { code, err } = await run('recovery', { ...system.environment('recovery'), [variable]: value });
  expect(code).toBe(78);
  expect(err.trimEnd().split('\n')).toHaveLength(1);
  expect(err).toContain(variable);
  expect(err).not.toContain(value);
});

test.each([
  ['approvals', 'HOLDPOINT_GRANT_KEY_FILE', 'not a key'],
  ['approvals', 'HOLDPOINT_PRINCIPALS_FILE', '{"principals":[]}'],
  ['approvals', 'HOLDPOINT_PRINCIPALS_FILE', 'operator, second'],
  ['executor', 'HOLDPOINT_TRUST_FILE', 'not a key'],
  ['executor', 'HOLDPOINT_JOIN_SECRET_FILE', 'short'],
  ['recovery', 'HOLDPOINT_SEAL_KEY_FILE', 'not a key at all'],
  ['recovery', 'HOLDPOINT_NATS_SEED_FILE', 'not a seed'],
  ['orchestrator', 'HOLDPOINT_NATS_TOPOLOGY_SEED_FILE', 'not a seed'],
] as const)(
  'the %s with a %s that contains %j ends with 78 and hides the content',
  async (service, variable, content) => {
    const file = join(system.folder, `wrong-${String(content.length)}`);
    await writeFile(file, content);
    // Without a name it would be missing beside another trust file.
    const joinSecret = layout(system.run.credentialsDir).joinSecret;
    const env = { HOLDPOINT_JOIN_SECRET_FILE: joinSecret, [variable]: file };
    const { code, err } = await run(service, { ...system.environment(service), ...env });
    expect(code).toBe(78);
    expect(err.trimEnd().split('\n')).toHaveLength(1);
    expect(err).toContain(variable);
    expect(err).not.toContain(content);
  },
);
