import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { Scope } from '@holdpoint/contracts/approval/access-token';
import { IDENTITY_HEADER, IDENTITY_MS, IssuedIdentity } from '@holdpoint/contracts/approval/identity';
import { type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import { NodeId, type TaskId } from '@holdpoint/contracts/values/ids';
import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { createSigner } from '@holdpoint/runtime/service/jws';
import { jetstream } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestPrincipal, writePrincipals } from '../../kit/stack/principals.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { newTaskId, waitForPhase } from '../../kit/tasks/tasks.ts';
import { until, untilTrue } from '../../kit/until.ts';

const PEOPLE = [
  { name: 'ada', groups: ['operators'], token: 'hpt_ada_0123456789' },
  { name: 'grace', groups: ['operators'], token: 'hpt_grace_0123456789' },
  { name: 'mallory', groups: ['guests'], token: 'hpt_mallory_0123456789' },
] as const satisfies readonly TestPrincipal[];
const [ADA, GRACE, MALLORY] = PEOPLE.map(({ token }) => token) as [string, string, string];

let system: System;
beforeAll(async () => {
  system = await createSystem();
  const principals = await writePrincipals(system.folder, PEOPLE);
  await system.start('orchestrator');
  await system.start('recovery');
  await system.start('approvals', { HOLDPOINT_PRINCIPALS_FILE: principals });
  await until('approvals answers', () => system.client.ask('approvals', 'info', {}));
  await until('recovery answers', () => system.client.ask('recovery', 'info', {}));
  await until('the orchestrator answers', () => system.client.ask('orchestrator', 'info', {}));
});
afterAll(() => system.stop());

const EFFECT = NodeId.parse('append');
const held: WorkflowDefinition = {
  id: 'held',
  version: '1',
  nodes: [
    {
      id: EFFECT,
      uses: 'cap.file.append',
      after: [],
      args: { file: 'a.txt', line: 'x' },
      effect: {
        kind: 'write_external',
        effectClass: 'keyed',
        idempotencyKey: 'append',
        target: 'file:a.txt',
        pool: 'default',
        audience: ['operators'],
        approvalTimeoutMs: 600_000,
        gate: {
          id: 'four-eyes',
          version: '1',
          inputs: {},
          given: {},
          loadContext: [],
          request: { onOpen: [] },
          policy: { fourEyes: true },
          timeoutMs: {},
          onDecision: {},
          resumePolicy: 'decision',
          resumeBranches: [],
          recovery: {},
          constraints: [],
        },
      },
    },
  ],
};

const ask = (endpoint: string, body: object, identity?: string): Promise<unknown> =>
  system.client.askRaw(subjects.api('orchestrator', endpoint), JSON.stringify(body), undefined, identity);
const identityOf = async (token: string): Promise<string> =>
  IssuedIdentity.parse(await system.client.askRaw(subjects.api('approvals', 'identify'), '{}', token))
    .assertion;

const submit = async (requestedBy: string | undefined, identity?: string): Promise<TaskId> => {
  const id = newTaskId();
  const named = requestedBy === undefined ? {} : { requestedBy };
  await ask('submit', { id, workflow: 'held', definition: held, goal: 'append a line', ...named }, identity);
  return id;
};
const requestOf = async (id: TaskId) => {
  const { nodes, requestedBy } = await waitForPhase(system.client, id, 'awaiting_approval');
  const approval = nodes.find((node) => node.id === EFFECT)?.approval;
  if (approval === undefined) throw new Error(`task ${id} has no request`);
  const { digest } = await until(`${approval} is requested`, () =>
    system.client.ask('approvals', 'get', { id: approval }),
  );
  return { approval, digest, requestedBy };
};
const approve = ({ approval: id, digest }: Awaited<ReturnType<typeof requestOf>>, token: string) =>
  system.client.ask('approvals', 'decide', { id, digest, decision: 'approve' }, token);

describe('four eyes on the requester', () => {
  test('a verified requester does not approve their own effect', async () => {
    const request = await requestOf(await submit('grace', await identityOf(ADA)));
    expect(request.requestedBy).toBe('ada');
    await expect(approve(request, ADA)).rejects.toMatchObject({ code: 'APPROVALS_FOUR_EYES' });
    expect(await approve(request, GRACE)).toMatchObject({ status: 'approved' });
  });

  test.each(['bob', undefined, 'Ada', 'ada ', 'ada\u200b', '\u0430da', 'user:ada', 'oidc:ada'])(
    'ada does not approve alone what she asked for without a token as %j',
    async (name) => {
      const request = await requestOf(await submit(name));
      expect(request.requestedBy).toMatch(/^unverified:/);
      expect(await approve(request, ADA)).toMatchObject({ status: 'pending', approvalsMissing: 1 });
      expect(await approve(request, ADA)).toMatchObject({ status: 'pending' });
      expect(await approve(request, GRACE)).toMatchObject({ status: 'approved' });
    },
  );
});

describe('a command by hand on a node with an effect', () => {
  const done = async (identity?: string) =>
    ask('done', { id: await submit('ada'), node: EFFECT, by: 'ada' }, identity);

  test('the name of an operator does not take it as done', async () => {
    await expect(done()).rejects.toMatchObject({ code: 'IDENTITY_REQUIRED' });
  });

  test('a person outside its audience does not take it as done', async () => {
    await expect(done(await identityOf(MALLORY))).rejects.toMatchObject({
      code: 'ORCHESTRATOR_NOT_ENTITLED',
    });
  });

  test('a person of its audience takes it as done, and the history names them', async () => {
    const id = await submit('ada');
    await ask('done', { id, node: EFFECT, by: 'grace' }, await identityOf(ADA));
    const { events } = await system.client.ask('orchestrator', 'history', { id });
    expect(events.find(({ type }) => type === 'node_succeeded')?.data).toMatchObject({ by: 'ada' });
  });
});

describe('an identity that does not count', () => {
  const claims = (iat: number) => ({
    use: 'identity',
    sub: 'ada',
    groups: ['operators'],
    roles: [],
    scopes: ['tasks:submit', 'tasks:write'],
    iat: Math.floor(iat / 1_000),
    exp: Math.floor((iat + IDENTITY_MS) / 1_000),
  });
  const stranger = createSigner(generateKeyPairSync('ed25519').privateKey);

  test('an identity of another key and a text are refused', async () => {
    for (const forged of [stranger(claims(Date.now())), 'ada', 'a.b.c'])
      // An unknown key may be a new one for some seconds.
      await expect(submit('ada', forged)).rejects.toThrow(/IDENTITY_INVALID|RUNTIME_UNAVAILABLE/);
  });

  test.each(Scope.options)('a token with the scope %s alone sends only its commands', async (scope) => {
    const secret = `hpt_${randomBytes(32).toString('base64url')}`;
    const sha256 = createHash('sha256').update(secret).digest('hex');
    await system.client.ask('approvals', 'token_create', { name: scope, sha256, scopes: [scope] }, ADA);
    const identity = await identityOf(secret);
    const outcome = async (work: Promise<unknown>): Promise<string> =>
      work.then(
        () => 'accepted',
        (error: unknown) => (error as { readonly code: string }).code,
      );
    expect(await outcome(submit(undefined, identity))).toBe(
      scope === 'tasks:submit' ? 'accepted' : 'IDENTITY_SCOPE',
    );
    const id = await submit(undefined);
    expect(await outcome(ask('done', { id, node: EFFECT }, identity))).toBe(
      scope === 'tasks:write' ? 'accepted' : 'IDENTITY_SCOPE',
    );
  });
});

describe('a request that only a verified person may send', () => {
  const askOf = (service: ServiceName, endpoint: string, body: object, identity?: string) =>
    system.client.askRaw(subjects.api(service, endpoint), JSON.stringify(body), undefined, identity);
  const tokenFor = async (more: object): Promise<string> => {
    const secret = `hpt_${randomBytes(32).toString('base64url')}`;
    const sha256 = createHash('sha256').update(secret).digest('hex');
    await system.client.ask('approvals', 'token_create', { name: 'made', sha256, ...more }, ADA);
    return identityOf(secret);
  };

  test('a circuit is set by a person, and not by a name, an agent or a token without the scope', async () => {
    const body = { target: 'workflow:held', state: 'open', by: 'ada' };
    const set = (identity?: string) => askOf('recovery', 'circuit', body, identity);
    await expect(set()).rejects.toMatchObject({ code: 'IDENTITY_REQUIRED' });
    await expect(set(await tokenFor({ agent: 'bot', scopes: ['operations:write'] }))).rejects.toMatchObject({
      code: 'IDENTITY_REQUIRED',
    });
    await expect(set(await tokenFor({ scopes: ['tasks:write'] }))).rejects.toMatchObject({
      code: 'IDENTITY_SCOPE',
    });
    expect((await system.client.ask('recovery', 'circuits', {})).items).toEqual([]);
    expect(await set(await identityOf(GRACE))).toMatchObject({ state: 'open', by: 'grace' });
    await askOf('recovery', 'circuit', { ...body, state: 'closed' }, await identityOf(GRACE));
  });

  test.each(['orchestrator', 'approvals', 'recovery'] as const)(
    'a dead letter of %s is resolved by a person, and not by a name or a token without the scope',
    async (service) => {
      const body = { id: `${service}-1000000`, action: 'drop', by: 'ada' };
      const resolve = (identity?: string) => askOf(service, 'dead_letter_resolve', body, identity);
      await expect(resolve()).rejects.toMatchObject({ code: 'IDENTITY_REQUIRED' });
      await expect(resolve(await tokenFor({ scopes: ['tasks:write'] }))).rejects.toMatchObject({
        code: 'IDENTITY_SCOPE',
      });
      await expect(resolve(await identityOf(GRACE))).rejects.toMatchObject({
        code: 'RUNTIME_DEAD_LETTER_UNKNOWN',
      });
    },
  );
});

describe('a submission on the bus', () => {
  const publish = async (id: TaskId, identity?: string): Promise<void> => {
    const sent = headers();
    if (identity !== undefined) sent.set(IDENTITY_HEADER, identity);
    const body = { id, workflow: 'held', definition: held, goal: 'append a line', requestedBy: 'Ada' };
    await jetstream(system.client.connection).publish(subjects.taskCommand('submit'), JSON.stringify(body), {
      headers: sent,
    });
  };

  test('without an assertion its requester is unverified', async () => {
    const id = newTaskId();
    await publish(id);
    expect((await requestOf(id)).requestedBy).toBe('unverified:ada');
  });

  test('with an assertion its requester is the owner of the token', async () => {
    const id = newTaskId();
    await publish(id, await identityOf(GRACE));
    expect((await requestOf(id)).requestedBy).toBe('grace');
  });

  test('with a wrong assertion it is a dead letter, and no task', async () => {
    const id = newTaskId();
    await publish(id, 'a.b.c');
    await untilTrue('it is a dead letter', async () => {
      const { items } = await system.client.ask('orchestrator', 'dead_letter_list', { limit: 50 });
      return items.some(({ letter }) => letter.reason.code === 'IDENTITY_INVALID');
    });
    await expect(system.client.ask('orchestrator', 'get', { id })).rejects.toMatchObject({
      code: 'ORCHESTRATOR_UNKNOWN_TASK',
    });
  });
});

describe("a rollback of another task's worktree", () => {
  const worktree = '.holdpoint/worktrees/work-victim-prepare';
  const rollback = (id: TaskId) => ({
    id,
    workflow: 'rollback',
    goal: 'undo the work of another task',
    repository: '/srv/repository',
    inputs: { task: 'victim', node: 'work', attempt: 1, commit: 'a'.repeat(40), place: { worktree } },
  });

  test('nobody but the orchestrator marks it as ordered by a verdict', async () => {
    const mark = { task: 'victim', node: 'work', attempt: 1, worktree };
    const refused = ask('submit', { ...rollback(newTaskId()), rollbackOf: mark }, await identityOf(MALLORY));
    await expect(refused).rejects.toMatchObject({ code: 'ERR_FORBIDDEN' });
  });
});
