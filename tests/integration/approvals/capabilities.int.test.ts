import { CapabilityDefinition } from '@holdpoint/contracts/approval/capability';
import { IdentityClaims } from '@holdpoint/contracts/approval/identity';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { approvalIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestPrincipal, writePrincipals } from '../../kit/stack/principals.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { newTaskId, waitForPhase } from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';

let system: System;
beforeAll(async () => {
  system = await createSystem();
  const operator: TestPrincipal = { name: 'operator', groups: ['operators'], token: system.client.token };
  const settings = { HOLDPOINT_PRINCIPALS_FILE: await writePrincipals(system.folder, [operator]) };
  await Promise.all(
    SERVICES.map((service) => system.start(service, service === 'approvals' ? settings : {})),
  );
});
afterAll(() => system.stop());

const NODE = 'effect' as NodeId;
const define = (name: string, change: object = {}): CapabilityDefinition =>
  CapabilityDefinition.parse({
    name,
    title: 'Tell ${to}',
    kind: 'notify',
    effectClass: 'keyed',
    risk: 'high',
    target: 'people:${to}',
    input: { properties: { to: { type: 'string' } }, required: ['to'], additionalProperties: false },
    ...change,
  });
const register = (definition: CapabilityDefinition) =>
  system.client.ask('approvals', 'capability_register', definition);

/** Past the checks of `POST /effects`: as a workflow would ask. */
const hold = async (capability: string, change: JsonObject = {}) => {
  const id = newTaskId();
  const inputs = {
    capability,
    args: { to: 'ada' },
    key: id,
    kind: 'notify',
    class: 'keyed',
    target: 'people:ada',
    previews: false,
    ...change,
  };
  await system.client.ask('orchestrator', 'submit', { id, workflow: 'effect', goal: 'tell them', inputs });
  return { id, approval: approvalIdOf(id, NODE, 1) };
};

const requestOf = ({ approval }: Awaited<ReturnType<typeof hold>>) =>
  until('the request arrives', () => system.client.ask('approvals', 'get', { id: approval }));

describe('a registered capability', () => {
  test('its title, description and risk reach the inbox', async () => {
    await register(define('tell', { description: 'Sends a message.' }));
    const held = await hold('tell');
    const shown = { title: 'Tell ada', description: 'Sends a message.', risk: 'high' };
    expect(await requestOf(held)).toMatchObject(shown);
    const filtered = { status: 'pending', order: 'risk', limit: 10, kind: 'notify', risk: 'high' } as const;
    const { items } = await system.client.ask('approvals', 'list', filtered);
    expect(items).toMatchObject([{ id: held.approval, ...shown }]);
  });

  test.each([
    ['arguments that do not fit', { args: { to: 1 } }, 'APPROVALS_ARGUMENTS_INVALID'],
    ['another class', { class: 'idempotent' }, 'APPROVALS_EFFECT_MISDESCRIBED'],
    ['another target', { target: 'people:eve' }, 'APPROVALS_EFFECT_MISDESCRIBED'],
  ])(
    'a request with %s ends at once, with the code and without a second attempt',
    async (_, change, code) => {
      await register(define('tell', { description: 'Sends a message.' }));
      const { id, approval } = await hold('tell', change);
      const { error, nodes } = await waitForPhase(system.client, id, 'failed');
      expect(error?.code).toBe(code);
      expect(nodes.find((node) => node.id === NODE)).toMatchObject({ attempt: 1, status: 'blocked' });
      expect(await system.client.ask('approvals', 'get', { id: approval })).toMatchObject({
        decidedBy: 'policy',
      });
      expect((await system.client.ask('executor', 'list', { task: id })).items).toEqual([]);
    },
  );

  test('an effect is admitted right after its registration, and refused after the withdrawal', async () => {
    const early = await hold('mail');
    const failed = await waitForPhase(system.client, early.id, 'failed');
    expect(failed.error?.code).toBe('APPROVALS_UNKNOWN_CAPABILITY');
    await register(define('mail'));
    expect(await requestOf(await hold('mail'))).toMatchObject({ status: 'pending', title: 'Tell ada' });
    await system.client.ask('approvals', 'capability_withdraw', { name: 'mail' });
    const late = await waitForPhase(system.client, (await hold('mail')).id, 'failed');
    expect(late.error?.code).toBe('APPROVALS_CAPABILITY_WITHDRAWN');
  });

  test('the audit log names who registered and withdrew it', async () => {
    await register(define('logged'));
    await system.client.ask('approvals', 'capability_withdraw', { name: 'logged' });
    const { items } = await system.client.ask('approvals', 'audit', { after: 0, limit: 1_000 });
    const lines = items.filter(({ entry }) => JSON.stringify(entry).includes('logged'));
    expect(lines.map(({ type }) => type)).toEqual(['capability_registered', 'capability_withdrawn']);
    expect(JSON.stringify(lines[1]?.entry)).toContain('operator');
  });

  test('a definition with a schema that cannot be used is refused', async () => {
    const wrong = register(define('wrong', { input: { type: 'text' } }));
    await expect(wrong).rejects.toMatchObject({ code: 'APPROVALS_CAPABILITY_INVALID' });
    expect((await system.client.ask('approvals', 'capability_list', { name: 'wrong' })).items).toEqual([]);
  });
});

test('capabilities are listed in pages', async () => {
  for (const name of ['page_b', 'page_c', 'page_a']) await register(define(name));
  const names: string[] = [];
  const read = async (after: string): Promise<void> => {
    const { items, next } = await system.client.ask('approvals', 'capability_list', { limit: 2, after });
    expect(items.length).toBeLessThanOrEqual(2);
    names.push(...items.map(({ name }) => name));
    if (next !== undefined) await read(next);
  };
  await read('page_');
  expect(names.filter((name) => name.startsWith('page_'))).toEqual(['page_a', 'page_b', 'page_c']);
});

test('a token for claims proves its owner and its capabilities, and opens nothing else', async () => {
  const secret = `hpt_${'c'.repeat(43)}`;
  const wanted = { name: 'claimant', sha256: sha256Of(secret), claims: ['tell'] };
  const token = await system.client.ask('approvals', 'token_create', wanted);
  expect(token).toMatchObject({ scopes: ['effects:claim'], claims: ['tell'] });
  const { assertion } = await system.client.ask('approvals', 'identify', {}, secret);
  const payload: unknown = JSON.parse(Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString());
  expect(IdentityClaims.parse(payload)).toMatchObject({
    sub: 'operator',
    scopes: ['effects:claim'],
    claims: ['tell'],
  });
  const forbidden = system.client.ask('approvals', 'capability_register', define('own'), secret);
  await expect(forbidden).rejects.toMatchObject({ code: 'APPROVALS_SCOPE' });
});
