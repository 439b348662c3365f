import { createHash, randomBytes } from 'node:crypto';
import { SignedIn } from '@holdpoint/contracts/approval/sign-in';
import type { Api, ApiRequest, ApiResponse } from '@holdpoint/contracts/catalog/api';
import { ErrorBody } from '@holdpoint/contracts/values/errors';
import { PEOPLE_ID } from '@holdpoint/contracts/values/ids';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callHttp } from '../../kit/console/web.ts';
import type { ServiceInProcess } from '../../kit/stack/in-process.ts';
import { writePrincipals } from '../../kit/stack/principals.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { publishRequest, requestOf } from '../../kit/surfaces/requests.ts';
import { until } from '../../kit/until.ts';

// People in the store, and sign-in links, on two replicas of the approvals service.

const ADA = 'hpt_ada_0123456789';
const GRACE = 'hpt_grace_0123456789';

let system: System;
let orchestrator: NatsConnection;
let replicas: readonly [ServiceInProcess, ServiceInProcess];
beforeAll(async () => {
  system = await createSystem();
  const principals = await writePrincipals(system.folder, [
    { name: 'ada', groups: ['operators'], token: ADA },
    { name: 'grace', groups: ['developers'], token: GRACE },
  ]);
  await system.start('orchestrator');
  const env = { HOLDPOINT_PRINCIPALS_FILE: principals };
  replicas = [await system.start('approvals', env), await system.start('approvals', env)];
  orchestrator = await system.connect('orchestrator');
});
afterAll(() => system.stop());

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');
const newSecret = (prefix = 'hpt'): string => `${prefix}_${randomBytes(32).toString('base64url')}`;

type Approvals = Api['approvals'];
const as = async <E extends keyof Approvals>(
  token: string,
  endpoint: E,
  request: ApiRequest<'approvals', E>,
): Promise<ApiResponse<'approvals', E>> =>
  (await system.client.askRaw(`hp.api.approvals.${endpoint}`, JSON.stringify(request), token)) as never;

const codeOf = async (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => (error as { readonly code?: unknown }).code,
  );

const tokenFor = async (principal: string): Promise<string> => {
  const secret = newSecret();
  await as(ADA, 'token_create', {
    name: 'laptop',
    sha256: hashOf(secret),
    principal,
    scopes: ['approvals:read', 'approvals:decide', 'rules:write', 'tokens:write'],
  });
  return secret;
};

/** The owner of a token as each replica knows them, or the code of its refusal. */
const whoOnEach = (token: string): Promise<readonly unknown[]> =>
  Promise.all(
    replicas.map(async ({ httpPort }) => {
      const answer = await fetch(`http://127.0.0.1:${String(httpPort)}/api/v1/whoami`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const body = (await answer.json()) as { readonly groups?: unknown; readonly code?: unknown };
      return body.groups ?? body.code;
    }),
  );

const pending = async () => {
  const request = requestOf();
  await publishRequest(orchestrator, request);
  await until(`${request.id} is requested`, () => system.client.ask('approvals', 'get', { id: request.id }));
  return request;
};

describe('a person of the store', () => {
  test('a person decides until they are removed, and then neither they nor their rules decide', async () => {
    await as(ADA, 'person_add', { name: 'eve', groups: ['operators'] });
    const eve = await tokenFor('eve');
    expect(await whoOnEach(eve)).toEqual([['operators'], ['operators']]);
    const first = await pending();
    await system.client.ask(
      'approvals',
      'decide',
      { id: first.id, decision: 'approve', digest: first.digest },
      eve,
    );
    const rule = await as(eve, 'rule_add', { name: 'mine', match: { capability: 'cap.file.append' } });
    const second = await pending();

    await as(ADA, 'person_remove', { name: 'eve' });

    expect(await whoOnEach(eve)).toEqual(['APPROVALS_UNAUTHENTICATED', 'APPROVALS_UNAUTHENTICATED']);
    const late = { id: second.id, decision: 'approve', digest: second.digest } as const;
    expect(await codeOf(as(eve, 'decide', late))).toBe('APPROVALS_UNAUTHENTICATED');
    const { items: rules } = await as(ADA, 'rule_list', { limit: 50 });
    expect(rules.find(({ id }) => id === rule.id)).toMatchObject({ status: 'revoked', revokedBy: 'ada' });
    const { items: tokens } = await as(ADA, 'token_list', { limit: 50 });
    expect(tokens.filter(({ principal }) => principal === 'eve')).toMatchObject([{ status: 'revoked' }]);
    expect(await codeOf(tokenFor('eve'))).toBe('APPROVALS_UNKNOWN_PERSON');
  });

  test('a change of groups counts on every replica at once', async () => {
    await as(ADA, 'person_add', { name: 'linus', groups: ['developers'] });
    const linus = await tokenFor('linus');
    expect(await whoOnEach(linus)).toEqual([['developers'], ['developers']]);
    await as(ADA, 'person_change', { name: 'linus', groups: ['release'] });
    expect(await whoOnEach(linus)).toEqual([['release'], ['release']]);
  });

  test('a person who is added again needs a new token', async () => {
    await as(ADA, 'person_add', { name: 'barbara' });
    const before = await tokenFor('barbara');
    await as(ADA, 'person_remove', { name: 'barbara' });
    await as(ADA, 'person_add', { name: 'barbara', groups: ['release'] });
    expect(await whoOnEach(before)).toEqual(['APPROVALS_UNAUTHENTICATED', 'APPROVALS_UNAUTHENTICATED']);
    expect(await whoOnEach(await tokenFor('barbara'))).toEqual([['release'], ['release']]);
  });

  test('every change is in the audit log with its author', async () => {
    await as(ADA, 'person_add', { name: 'radia', groups: ['release'] });
    await as(ADA, 'person_change', { name: 'radia', groups: [] });
    await as(ADA, 'person_remove', { name: 'radia' });
    const { items } = await as(ADA, 'audit', { about: PEOPLE_ID });
    const lines = items.map(({ type, entry }) => ({ type, ...(JSON.parse(entry) as object) }));
    expect(lines.filter((line) => 'name' in line && line.name === 'radia')).toEqual([
      { type: 'person_added', name: 'radia', groups: ['release'], by: 'ada' },
      { type: 'person_changed', name: 'radia', groups: [], by: 'ada' },
      { type: 'person_removed', name: 'radia', by: 'ada' },
    ]);
  });

  test('only an administrator changes people, and each mistake has its code', async () => {
    const added = await Promise.all([
      codeOf(as(ADA, 'person_add', { name: 'twice' })),
      codeOf(as(ADA, 'person_add', { name: 'Twice' })),
    ]);
    expect(new Set(added)).toEqual(new Set(['APPROVALS_PERSON_CONFLICT', undefined]));
    expect(
      await Promise.all([
        codeOf(as(GRACE, 'person_add', { name: 'x' })),
        codeOf(as(ADA, 'person_add', { name: 'grace' })),
        codeOf(as(ADA, 'person_add', { name: 'x', groups: ['user:ada'] })),
        codeOf(as(ADA, 'person_remove', { name: 'nosuch' })),
        codeOf(as(ADA, 'person_remove', { name: 'ada' })),
        codeOf(tokenFor('nosuch')),
      ]),
    ).toEqual([
      'APPROVALS_NOT_ENTITLED',
      'APPROVALS_PERSON_CONFLICT',
      'CONTRACT_INVALID',
      'APPROVALS_UNKNOWN_PERSON',
      'APPROVALS_PERSON_CONFLICT',
      'APPROVALS_UNKNOWN_PERSON',
    ]);
    const { items } = await as(GRACE, 'person_list', {});
    expect(items.map(({ name }) => name)).toEqual(['grace']);
  });
});

describe('a sign-in link', () => {
  const newCode = async (maker = ADA): Promise<string> => {
    const code = newSecret('hpc');
    await as(maker, 'token_create', { name: 'console sign-in', sha256: hashOf(code), signIn: true });
    return code;
  };
  const redeem = async (code: string, at: ServiceInProcess = replicas[0]) => {
    const headers = { 'content-type': 'application/json' };
    const { status, body } = await callHttp(at.httpPort, '/console/sign-in/code', {
      method: 'POST',
      headers,
      body: { code },
    });
    return { status, body };
  };

  test('a sign-in link opens one session with the rights of its owner, and never again', async () => {
    const code = await newCode();
    const { token } = SignedIn.parse((await redeem(code)).body);
    expect(await whoOnEach(token)).toEqual([['operators'], ['operators']]);
    expect(await whoOnEach(code)).toEqual(['APPROVALS_UNAUTHENTICATED', 'APPROVALS_UNAUTHENTICATED']);
    const again = await redeem(code, replicas[1]);
    expect(again).toMatchObject({ status: 401, body: { code: 'APPROVALS_SIGN_IN_REFUSED' } });
    expect(ErrorBody.parse(again.body).message).toContain('used already');
  });

  test('a sign-in link that is used on two replicas at once opens one session', async () => {
    const code = await newCode();
    const answers = await Promise.all([0, 1, 0, 1].map((i) => redeem(code, replicas[i])));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401, 401, 401]);
  });

  test('a wrong code is refused, and an unused code is no token', async () => {
    expect(await redeem(newSecret('hpc'))).toMatchObject({
      status: 401,
      body: { code: 'APPROVALS_SIGN_IN_REFUSED' },
    });
    const unused = await newCode();
    expect(await whoOnEach(unused)).toEqual(['APPROVALS_UNAUTHENTICATED', 'APPROVALS_UNAUTHENTICATED']);
  });

  test('a session ends with its revocation, and no log has its code or its token', async () => {
    const code = await newCode();
    const { token } = SignedIn.parse((await redeem(code)).body);
    const { items } = await as(ADA, 'token_list', { limit: 50 });
    const session = items.findLast(({ signIn }) => signIn === 'session');
    if (session === undefined) throw new Error('no session is listed');
    await as(ADA, 'token_revoke', { id: session.id });
    expect(await whoOnEach(token)).toEqual(['APPROVALS_UNAUTHENTICATED', 'APPROVALS_UNAUTHENTICATED']);
    const logs = JSON.stringify(await Promise.all(replicas.map(({ lines }) => lines())));
    expect(logs).not.toContain(code);
    expect(logs).not.toContain(token);
  });
});

test('the last use of a token is listed once the replica has stored it', async () => {
  await as(ADA, 'person_add', { name: 'used' });
  const used = await tokenFor('used');
  await whoOnEach(used);
  await replicas[1].stop();
  const { items } = await as(ADA, 'token_list', { limit: 50 });
  expect(items.find(({ principal }) => principal === 'used')?.usedAt).toBeGreaterThan(0);
});
