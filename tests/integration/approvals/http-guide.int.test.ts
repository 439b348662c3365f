import { execFile, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { documentedIn } from '../../e2e/documents/command-lines.ts';
import { type TestPrincipal, writePrincipals } from '../../kit/stack/principals.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { publishRequest, requestOf } from '../../kit/surfaces/requests.ts';
import { until, untilTrue } from '../../kit/until.ts';
import { readSource } from '../../repo/source-tree.ts';

const run = promisify(execFile);
const GUIDE = 'docs/approvals.md';
const ADDRESS = '127.0.0.1:8702';
const guide = readSource(GUIDE);
const calls = documentedIn(GUIDE, guide).filter(({ words }) => words[0] === 'curl');

const programIn = (markdown: string): string => {
  const program = /^```js\n(?<program>.*?)^```$/ms.exec(markdown)?.groups?.['program'];
  if (program === undefined) throw new Error(`${GUIDE} has no JavaScript program`);
  return program;
};

let system: System;
let port: number;
let orchestrator: NatsConnection;
beforeAll(async () => {
  system = await createSystem();
  const operator: TestPrincipal = { name: 'operator', groups: ['operators'], token: system.client.token };
  const settings = { HOLDPOINT_PRINCIPALS_FILE: await writePrincipals(system.folder, [operator]) };
  const started = await Promise.all(
    SERVICES.map((service) => system.start(service, service === 'approvals' ? settings : {})),
  );
  port = started[SERVICES.indexOf('approvals')]?.httpPort ?? 0;
  orchestrator = await system.connect('orchestrator');
});
afterAll(() => system.stop());

const newRequest = async (): Promise<RequestApproval> => {
  const request = requestOf();
  await publishRequest(orchestrator, request);
  await until(`${request.id} is there`, () => system.client.ask('approvals', 'get', { id: request.id }));
  return request;
};
const here = (content: string): string => content.replaceAll(ADDRESS, `127.0.0.1:${String(port)}`);

const curl = async (words: readonly string[], values: Readonly<Record<string, string>>): Promise<unknown> => {
  const args = words
    .slice(1)
    .map((word) => here(word.replaceAll(/<([a-z]+)>/g, (_, name: string) => values[name] ?? name)));
  const { stdout } = await run('curl', ['--silent', '--show-error', '--fail-with-body', ...args]);
  return JSON.parse(stdout);
};

describe('the guide to approvals', () => {
  test('the curl calls of the guide list, show and decide an approval and revoke a rule', async () => {
    const { id, digest } = await newRequest();
    const rule = await system.client.ask('approvals', 'rule_add', {
      name: 'chat',
      match: { capability: 'cap.notify.*', target: 'notify:*' },
    });
    const values = { token: system.client.token, approval: id, digest, rule: rule.id };
    const [list, show, decide, revoke, ...more] = calls;
    expect(more).toEqual([]);
    expect(await curl(list?.words ?? [], values)).toMatchObject({ items: [{ id }] });
    expect(await curl(show?.words ?? [], values)).toMatchObject({ id, status: 'pending' });
    expect(await curl(decide?.words ?? [], values)).toEqual({ id, status: 'approved', by: 'operator' });
    expect(await curl(revoke?.words ?? [], values)).toMatchObject({ id: rule.id, status: 'revoked' });
  });

  test('the WebSocket program of the guide approves a request', async () => {
    const file = join(system.folder, 'watch.js');
    await writeFile(file, here(programIn(guide)));
    const env = { ...process.env, HOLDPOINT_TOKEN: system.client.token };
    const program = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    program.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    onTestFinished(() => void program.kill());
    // The watcher does not receive requests before its subscription.
    await until('the program has approved a request', async () => {
      const { id } = await newRequest();
      await sleep(500);
      const { status } = await system.client.ask('approvals', 'get', { id });
      return status === 'approved' ? true : undefined;
    });
    await untilTrue('the program has received the answer', () => printed.includes('approved'));
  });
});
