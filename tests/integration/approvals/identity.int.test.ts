import { createHash, createHmac, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { AccessTokenView } from '@holdpoint/contracts/approval/access-token';
import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { ErrorCode } from '@holdpoint/contracts/values/errors';
import type { Api, ApiRequest } from '@holdpoint/contracts/catalog/api';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import type { NatsConnection } from '@nats-io/transport-node';
import { exportJWK, exportSPKI, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commandLine, type Output } from '../../kit/command-line.ts';
import { Refusal } from '../../kit/bus/client.ts';
import type { ServiceInProcess } from '../../kit/stack/in-process.ts';
import { writePrincipals } from '../../kit/stack/principals.ts';
import { publishRequest, requestOf } from '../../kit/surfaces/requests.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { until, untilTrue } from '../../kit/until.ts';

type Approvals = Api['approvals'];
type ApprovalsSystem = {
  readonly system: System;
  readonly replicas: readonly ServiceInProcess[];
  /** Every secret in use: no log may contain one. */
  readonly secrets: Set<string>;
  readonly as: <E extends keyof Approvals>(
    token: string | undefined,
    endpoint: E,
    request: ApiRequest<'approvals', E>,
  ) => Promise<unknown>;
  readonly pending: (more?: Partial<RequestApproval>) => Promise<RequestApproval>;
  readonly newToken: (
    maker: string,
    more?: Partial<ApiRequest<'approvals', 'token_create'>>,
  ) => Promise<{ readonly secret: string; readonly token: AccessTokenView }>;
  readonly stop: () => Promise<void>;
};

const people = [
  { name: 'ada', groups: ['operators'], token: 'hpt_ada_0123456789', oidc: 'sub-ada' },
  { name: 'grace', groups: ['developers'], token: 'hpt_grace_0123456789', discord: '42' },
  { name: 'linus', groups: ['operators'], token: 'hpt_linus_0123456789' },
] as const;
const [ada, grace, linus] = people.map(({ token }) => token) as [string, string, string];

const startApprovalsSystem = async (
  replicas: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<ApprovalsSystem> => {
  const system = await createSystem();
  const principals = await writePrincipals(system.folder, people);
  await system.start('orchestrator');
  const env = { HOLDPOINT_PRINCIPALS_FILE: principals, ...settings };
  const started: ServiceInProcess[] = [];
  for (let i = 0; i < replicas; i += 1) started.push(await system.start('approvals', env));
  const orchestrator: NatsConnection = await system.connect('orchestrator');
  const secrets = new Set<string>([ada, grace, linus]);

  const as: ApprovalsSystem['as'] = (token, endpoint, request) => {
    if (token !== undefined) secrets.add(token);
    // A decision names the digest that the request shows.
    if (endpoint === 'decide') return system.client.ask('approvals', endpoint, request, token);
    return system.client.askRaw(`hp.api.approvals.${endpoint}`, JSON.stringify(request), token);
  };
  return {
    system,
    replicas: started,
    secrets,
    as,
    pending: async (more = {}) => {
      const request = requestOf(more);
      await publishRequest(orchestrator, request);
      await until(`${request.id} is requested`, () =>
        system.client.ask('approvals', 'get', { id: request.id }),
      );
      return request;
    },
    newToken: async (maker, more = {}) => {
      const secret = `hpt_${randomBytes(32).toString('base64url')}`;
      const sha256 = createHash('sha256').update(secret).digest('hex');
      const made = await as(maker, 'token_create', { name: 'a token', sha256, ...more });
      secrets.add(secret);
      return { secret, token: made as AccessTokenView };
    },
    stop: system.stop,
  };
};

/** The code of a refused call; undefined after an answer. */
const codeOf = async (call: Promise<unknown>): Promise<string | undefined> => {
  try {
    await call;
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return ErrorCode.parse(error.code);
    throw error;
  }
};

const query = ({ system }: ApprovalsSystem, text: string): Promise<unknown> =>
  withAdmin(system.database.admin, async (client): Promise<unknown> => (await client.query(text)).rows);

const logsOf = async ({ replicas }: ApprovalsSystem): Promise<string> =>
  JSON.stringify(await Promise.all(replicas.map(({ lines }) => lines())));

describe('tokens', () => {
  let approvals: ApprovalsSystem;
  beforeAll(async () => {
    approvals = await startApprovalsSystem(2);
  });
  afterAll(() => approvals.stop());

  const typed = (token: string): ((...args: readonly string[]) => Promise<Output>) => {
    approvals.secrets.add(token);
    return commandLine(approvals.system, undefined, { HOLDPOINT_TOKEN: token });
  };

  test('a token that the command line created decides, and is useless on every replica once it is revoked', async () => {
    const made = await typed(ada)('token', 'create', 'laptop', '--expires', '30d');
    expect(made).toMatchObject({ code: 0 });
    const secret = made.out.trimEnd();
    expect(secret).toMatch(/^hpt_[\w-]{43}$/);
    const id = /k-[0-9a-z]{10}/.exec(made.err)?.[0] ?? '';

    const request = await approvals.pending();
    const holder = typed(secret);
    expect((await holder('whoami')).out).toMatch(/^user +ada, an administrator$/m);
    expect(await holder('approval', 'approve', request.id)).toMatchObject({ code: 0 });
    expect(await approvals.system.client.ask('approvals', 'get', { id: request.id })).toMatchObject({
      status: 'approved',
      decidedBy: 'ada',
      surface: 'cli',
    });

    expect((await typed(ada)('token', 'list')).out).toContain(id);
    expect(await typed(ada)('token', 'revoke', id)).toMatchObject({ code: 0 });
    // Any replica may answer.
    const codes = await Promise.all(
      Array.from({ length: 12 }, () => codeOf(approvals.as(secret, 'whoami', {}))),
    );
    expect(new Set(codes)).toEqual(new Set(['APPROVALS_UNAUTHENTICATED']));
    const refused = await holder('approval', 'approve', (await approvals.pending()).id);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.err).toContain('APPROVALS_UNAUTHENTICATED: the token was revoked');
    // A revoked secret cannot be registered again.
    const sha256 = createHash('sha256').update(secret).digest('hex');
    expect(await codeOf(approvals.as(ada, 'token_create', { name: 'again', sha256 }))).toBe(
      'APPROVALS_TOKEN_CONFLICT',
    );
  });

  test('a token in a file of its own works', async () => {
    const file = join(approvals.system.folder, 'own-token');
    expect(await typed(grace)('token', 'create', 'file', '--out', file)).toMatchObject({ code: 0 });
    approvals.secrets.add((await readFile(file, 'utf8')).trimEnd());
    const holder = commandLine(approvals.system, undefined, { HOLDPOINT_TOKEN_FILE: file });
    const { out } = await holder('whoami');
    expect(out).toMatch(/^user +grace$/m);
    expect(out).toMatch(/^groups +developers$/m);
  });

  test('the command line without a token names the missing setting, and still lists public data', async () => {
    const anybody = commandLine(approvals.system, undefined, { HOLDPOINT_TOKEN_FILE: '' });
    const { code, err } = await anybody('token', 'list');
    expect(code).toBe(1);
    expect(err).toContain('needs a token: set HOLDPOINT_TOKEN');
    expect(await anybody('approval', 'list')).toMatchObject({ code: 0 });
  });

  test('a token expires by the clock of the database', async () => {
    const { secret, token } = await approvals.newToken(ada, { expiresInMs: 60_000 });
    expect(token.expiresAt).toBe(token.createdAt + 60_000);
    expect(await approvals.as(secret, 'whoami', {})).toMatchObject({ name: 'ada' });
    // Simulates that a minute has passed.
    await query(
      approvals,
      `UPDATE approvals.heads SET view = (view::jsonb || '{"expiresAt": ${String(token.createdAt - 1)}}')::json
        WHERE id = '${token.id}'`,
    );
    await expect(approvals.as(secret, 'whoami', {})).rejects.toMatchObject({
      code: 'APPROVALS_UNAUTHENTICATED',
      message: expect.stringContaining('expired') as string,
    });
  });

  test('a token is valid for its scopes only', async () => {
    const reader = await approvals.newToken(ada, { scopes: ['approvals:read'] });
    const decider = await approvals.newToken(ada, { scopes: ['approvals:decide'] });
    const { id } = await approvals.pending();
    expect(await codeOf(approvals.as(reader.secret, 'decide', { id, decision: 'approve' }))).toBe(
      'APPROVALS_SCOPE',
    );
    expect(await codeOf(approvals.as(reader.secret, 'token_list', {}))).toBeUndefined();
    expect(await codeOf(approvals.as(reader.secret, 'audit', {}))).toBe('APPROVALS_SCOPE');
    expect(await codeOf(approvals.as(decider.secret, 'token_list', {}))).toBe('APPROVALS_SCOPE');
    expect(await codeOf(approvals.newToken(decider.secret))).toBe('APPROVALS_SCOPE');
    expect(await approvals.as(decider.secret, 'decide', { id, decision: 'approve' })).toMatchObject({
      status: 'approved',
      by: 'ada',
    });
  });

  test('a token never has more groups or scopes than its creator, nor another name', async () => {
    const maker = await approvals.newToken(grace, { scopes: ['approvals:read', 'tokens:write'] });
    const tries: readonly (readonly [string, object])[] = [
      ['APPROVALS_NOT_ENTITLED', { groups: ['operators'] }],
      ['APPROVALS_NOT_ENTITLED', { principal: 'ada' }],
      ['APPROVALS_NOT_ENTITLED', { principal: 'grace-2' }],
    ];
    for (const [code, wanted] of tries) expect(await codeOf(approvals.newToken(grace, wanted))).toBe(code);
    expect(await codeOf(approvals.newToken(maker.secret, { scopes: ['approvals:decide'] }))).toBe(
      'APPROVALS_SCOPE',
    );
    const { secret } = await approvals.newToken(grace, { groups: ['developers'] });
    expect(await approvals.as(secret, 'whoami', {})).toMatchObject({ name: 'grace', groups: ['developers'] });
    const { id } = await approvals.pending();
    expect(await codeOf(approvals.as(secret, 'decide', { id, decision: 'approve' }))).toBe(
      'APPROVALS_NOT_ENTITLED',
    );
  });

  test('an administrator creates tokens for principals outside the directory, with their own groups', async () => {
    const { secret, token } = await approvals.newToken(ada, {
      principal: 'release-bot',
      groups: ['releasers'],
    });
    expect(token).toMatchObject({ principal: 'release-bot', groups: ['releasers'], createdBy: 'ada' });
    const { id } = await approvals.pending({ audience: ['group:releasers'] });
    expect(await approvals.as(secret, 'decide', { id, decision: 'reject' })).toMatchObject({
      by: 'release-bot',
    });
    // The holder of the token may revoke it, and so may an administrator.
    expect(await codeOf(approvals.as(grace, 'token_revoke', { id: token.id }))).toBe(
      'APPROVALS_NOT_ENTITLED',
    );
    expect(await approvals.as(linus, 'token_revoke', { id: token.id })).toMatchObject({ status: 'revoked' });
    expect(await codeOf(approvals.as(ada, 'token_revoke', { id: 'k-0000000000' }))).toBe(
      'APPROVALS_UNKNOWN_TOKEN',
    );
  });

  test('users list their own tokens and administrators all, in pages and without hashes', async () => {
    const { token } = await approvals.newToken(grace);
    const mine = (await approvals.as(grace, 'token_list', { limit: 500 })) as { items: AccessTokenView[] };
    expect(mine.items.map(({ id }) => id)).toContain(token.id);
    expect(new Set(mine.items.map(({ principal }) => principal))).toEqual(new Set(['grace']));
    const seen: string[] = [];
    for (let after: string | undefined; ;) {
      const page = (await approvals.as(ada, 'token_list', { limit: 2, ...(after && { after }) })) as {
        items: AccessTokenView[];
        next?: string;
      };
      expect(JSON.stringify(page)).not.toMatch(/sha256|[0-9a-f]{64}/);
      seen.push(...page.items.map(({ id }) => id));
      if (page.next === undefined) break;
      after = page.next;
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.length).toBeGreaterThan(mine.items.length);
  });

  test('the directory at the time of the decision counts, not the one at the time of the request', async () => {
    const path = join(approvals.system.folder, 'principals.json');
    const before = await readFile(path, 'utf8');
    const { secret } = await approvals.newToken(linus);
    expect(await approvals.as(secret, 'whoami', {})).toMatchObject({ groups: ['operators'] });
    const { id } = await approvals.pending();

    await writeFile(path, '{"principals": [');
    await untilTrue('the broken file is logged by each', async () =>
      (await Promise.all(approvals.replicas.map(({ lines }) => lines()))).every((lines) =>
        lines.some(({ msg }) => msg === 'file cannot be read: the last content stays in use'),
      ),
    );
    expect(await approvals.as(secret, 'whoami', {})).toMatchObject({ groups: ['operators'] });

    await writeFile(
      path,
      before.replace('"name":"linus","groups":["operators"]', '"name":"linus","groups":[]'),
    );
    // Each replica reads the file itself.
    await untilTrue('linus is no longer an operator', async () => {
      const answers = await Promise.all(Array.from({ length: 12 }, () => approvals.as(secret, 'whoami', {})));
      return answers.every((answer) => (answer as { groups: string[] }).groups.length === 0);
    });
    for (const token of [secret, linus])
      expect(await codeOf(approvals.as(token, 'decide', { id, decision: 'approve' }))).toBe(
        'APPROVALS_NOT_ENTITLED',
      );
    await writeFile(path, before);
  });

  test('one index finds a token by its hash', async () => {
    const plan = await withAdmin(approvals.system.database.admin, async (client): Promise<unknown> => {
      // The plan must match that of the service.
      await client.query('SET enable_seqscan = off');
      const { rows } = await client.query(
        "EXPLAIN SELECT view FROM approvals.heads WHERE kind = 'token' AND view->>'sha256' = 'x'",
      );
      return rows;
    });
    expect(JSON.stringify(plan)).toContain('heads_tokens');
  });

  test('no log and no table contains the secret of a token', async () => {
    const kept = await query(approvals, 'SELECT data::text FROM approvals.events');
    const heads = await query(approvals, 'SELECT view::text FROM approvals.heads');
    const all = (await logsOf(approvals)) + JSON.stringify([kept, heads]);
    expect(all).toContain('token_created');
    for (const secret of approvals.secrets) expect(all).not.toContain(secret);
  });
});

const ISSUER = 'https://issuer.example';

type Key = {
  readonly kid: string;
  readonly jwk: JWK;
  readonly sign: (claims: JWTPayload) => Promise<string>;
};
const newKey = async (kid: string): Promise<Key & { readonly pem: string }> => {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  return {
    kid,
    jwk: { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'RS256' },
    pem: await exportSPKI(publicKey),
    sign: (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid }).sign(privateKey),
  };
};
const now = (): number => Math.floor(Date.now() / 1_000);
const claims = (more: Readonly<Record<string, unknown>> = {}): JWTPayload => ({
  iss: ISSUER,
  aud: 'holdpoint',
  sub: 'sub-eve',
  groups: ['operators'],
  iat: now(),
  exp: now() + 600,
  ...more,
});

describe('tokens of an issuer', () => {
  let approvals: ApprovalsSystem;
  let server: Server;
  let keys: readonly Key[] | undefined;
  let first: Awaited<ReturnType<typeof newKey>>;
  beforeAll(async () => {
    first = await newKey('first');
    keys = [first];
    server = createServer((_, response) => {
      if (keys === undefined) response.writeHead(503).end();
      else response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    approvals = await startApprovalsSystem(1, {
      HOLDPOINT_OIDC_ISSUER: ISSUER,
      HOLDPOINT_OIDC_AUDIENCE: 'holdpoint',
      HOLDPOINT_OIDC_JWKS: `http://127.0.0.1:${String(port)}/keys`,
    });
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await approvals.stop();
  });

  test('a token is unavailable, not wrong, while the keys of its issuer cannot be fetched', async () => {
    keys = undefined;
    const token = await first.sign(claims());
    expect(await codeOf(approvals.as(token, 'whoami', {}))).toBe('RUNTIME_UNAVAILABLE');
    keys = [first];
    await untilTrue(
      'the keys are there',
      async () => (await codeOf(approvals.as(token, 'whoami', {}))) === undefined,
    );
  });

  test('a token of an issuer decides for the person and the groups that it names', async () => {
    const token = await first.sign(claims());
    expect(await approvals.as(token, 'whoami', {})).toEqual({
      name: 'oidc:sub-eve',
      groups: ['operators'],
      roles: [],
      scopes: [
        'approvals:read',
        'approvals:decide',
        'rules:write',
        'audit:read',
        'tasks:read',
        'tasks:write',
      ],
      administrator: true,
    });
    const { id } = await approvals.pending();
    expect(await approvals.as(token, 'decide', { id, decision: 'approve' })).toMatchObject({
      by: 'oidc:sub-eve',
    });
    expect(await codeOf(approvals.newToken(token))).toBe('APPROVALS_SCOPE');
  });

  test('a name in an issuer token never grants the rights of that name in the directory', async () => {
    const token = await first.sign(claims({ sub: 'ada', groups: ['user:ada'] }));
    expect(await approvals.as(token, 'whoami', {})).toMatchObject({ name: 'oidc:ada', groups: [] });
    const { id } = await approvals.pending({ audience: ['user:ada'] });
    expect(await codeOf(approvals.as(token, 'decide', { id, decision: 'approve' }))).toBe(
      'APPROVALS_NOT_ENTITLED',
    );
  });

  test('an issuer token and a directory token of one person are one vote of a quorum of two', async () => {
    const { id } = await approvals.pending({ policy: { quorum: 2 } });
    const own = await first.sign(claims({ sub: 'sub-ada', groups: ['whatever'] }));
    const { secret } = await approvals.newToken(ada);
    for (const token of [ada, own, secret, ada])
      expect(await approvals.as(token, 'decide', { id, decision: 'approve' })).toMatchObject({
        status: 'pending',
        by: 'ada',
        approvalsMissing: 1,
      });
    expect(
      await approvals.as(await first.sign(claims()), 'decide', { id, decision: 'approve' }),
    ).toMatchObject({
      status: 'approved',
    });
    expect(await approvals.system.client.ask('approvals', 'get', { id })).toMatchObject({
      votes: [{ by: 'ada' }, { by: 'oidc:sub-eve' }],
      decidedBy: 'oidc:sub-eve',
    });
  });

  test('an invalid issuer token is refused, whatever is wrong with it', async () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const confused = `${part({ alg: 'HS256', kid: 'first' })}.${part(claims())}`;
    const stranger = await newKey('first');
    const wrong: Readonly<Record<string, string>> = {
      'another issuer': await first.sign(claims({ iss: 'https://issuer.example.evil' })),
      'another audience': await first.sign(claims({ aud: ['other'] })),
      'no audience': await first.sign(claims({ aud: undefined })),
      'algorithm none': `${part({ alg: 'none' })}.${part(claims())}.`,
      'the public key as a secret': `${confused}.${createHmac('sha256', first.pem).update(confused).digest('base64url')}`,
      expired: await first.sign(claims({ exp: now() - 60 })),
      'no end': await first.sign(claims({ exp: undefined })),
      'a beginning to come': await first.sign(claims({ nbf: now() + 600 })),
      'another key': await stranger.sign(claims()),
      'a key that is not there': await (await newKey('second')).sign(claims()),
      'a group of two lines': await first.sign(claims({ groups: ['a\nb'] })),
      'no subject': await first.sign(claims({ sub: undefined })),
    };
    const codes = await Promise.all(
      Object.entries(wrong).map(async ([name, token]) => [
        name,
        await codeOf(approvals.as(token, 'whoami', {})),
      ]),
    );
    expect(Object.fromEntries(codes)).toEqual(
      Object.fromEntries(Object.keys(wrong).map((name) => [name, 'APPROVALS_UNAUTHENTICATED'])),
    );
  });

  test('a new key of the issuer is accepted, and a removed one is not', async () => {
    const second = await newKey('second');
    keys = [second];
    const token = await second.sign(claims());
    await untilTrue(
      'the new key is known',
      async () => (await codeOf(approvals.as(token, 'whoami', {}))) === undefined,
    );
    // Refused, with or without throttling.
    const old = await codeOf(approvals.as(await first.sign(claims()), 'whoami', {}));
    expect(['APPROVALS_UNAUTHENTICATED', 'APPROVALS_TOO_MANY_ATTEMPTS']).toContain(old);
  });

  test('no log contains an issuer token', async () => {
    const logs = await logsOf(approvals);
    expect(logs).toContain('authentication failed');
    expect(approvals.secrets.size).toBeGreaterThan(10);
    // The log contains no fragment of a secret either.
    const parts = [...approvals.secrets].flatMap((secret) => secret.split('.').slice(1));
    for (const part of [...approvals.secrets, ...parts.filter((each) => each !== '')])
      expect(logs).not.toContain(part);
  });
});

describe('wrong tokens', () => {
  let approvals: ApprovalsSystem;
  beforeAll(async () => {
    approvals = await startApprovalsSystem(1);
  });
  afterAll(() => approvals.stop());

  const failures = async (): Promise<Readonly<Record<string, number>>> => {
    const response = await fetch(`http://127.0.0.1:${String(approvals.replicas[0]?.httpPort)}/metrics`);
    const lines = (await response.text()).matchAll(
      /^holdpoint_authentication_failures_total\{(.*)\} (\d+)$/gm,
    );
    const counts = new Map<string, number>();
    for (const [, labels = '', value] of lines)
      counts.set(/kind="(\w+)"/.exec(labels)?.[1] ?? '', Number(value));
    return Object.fromEntries(counts);
  };

  test('wrong tokens from one source are throttled with a retry time, and valid ones still work', async () => {
    const { secret } = await approvals.newToken(ada);
    expect(await failures()).toMatchObject({ unknown: 0, missing: 0 });
    for (let i = 0; i < 20; i += 1)
      expect(await codeOf(approvals.as(`hpt_guess_number_${String(i)}`, 'whoami', {}))).toBe(
        'APPROVALS_UNAUTHENTICATED',
      );
    const refused = approvals.as('hpt_guess_number_20', 'whoami', {});
    await expect(refused).rejects.toMatchObject({ code: 'APPROVALS_TOO_MANY_ATTEMPTS', status: 429 });
    const { details } = await refused.then(
      () => ({ details: undefined }),
      (error: unknown) => (error as Refusal).body,
    );
    expect(details?.['retryAfterSeconds']).toSatisfy((wait: number) => wait >= 1 && wait <= 60);
    for (const token of [ada, secret])
      expect(await approvals.as(token, 'whoami', {})).toMatchObject({ name: 'ada' });
    const { id } = await approvals.pending();
    expect(await approvals.as(secret, 'decide', { id, decision: 'approve' })).toMatchObject({
      status: 'approved',
    });
  });

  test('wrong tokens are counted and logged at a limited rate, without their text', async () => {
    expect(await codeOf(approvals.as(undefined, 'whoami', {}))).toBe('APPROVALS_UNAUTHENTICATED');
    const counted = await failures();
    expect(counted).toMatchObject({ missing: 1, expired: 0, revoked: 0, oidc: 0, scope: 0 });
    expect(counted['unknown']).toBeGreaterThanOrEqual(21);
    const logs = await logsOf(approvals);
    expect(logs).toContain('authentication failed');
    for (const secret of approvals.secrets) expect(logs).not.toContain(secret);
  });
});
