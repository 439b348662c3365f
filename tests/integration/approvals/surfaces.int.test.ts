import {
  type DecideApproval,
  type RequestApproval,
  StuckAnswer,
} from '@holdpoint/contracts/approval/commands';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { approvalIdOf, effectIdOf, inputIdOf } from '@holdpoint/contracts/values/ids';
import type { InputRequest } from '@holdpoint/contracts/workflow/input';
import type { Json } from '@holdpoint/contracts/values/json';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { watchDeadLetters } from '../../kit/bus/dead-letters.ts';
import { type DiscordStandIn, snowflake, startDiscord } from '../../kit/surfaces/discord.ts';
import { sampleEffect } from '../../kit/effects/orders.ts';
import { type TestPrincipal, writePrincipals } from '../../kit/stack/principals.ts';
import { publishRequest, requestOf } from '../../kit/surfaces/requests.ts';
import {
  onDiscord,
  onTheBus,
  onTheCommandLine,
  overHttp,
  overTheConsole,
  overWebSocket,
  type SurfaceDriver,
} from '../../kit/surfaces/surfaces.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { until, untilTrue } from '../../kit/until.ts';

// One suite for every surface: the same rules and the same texts apply on each.

const person = (name: string, groups: readonly string[]): TestPrincipal => ({
  name,
  groups,
  token: `hpt_${name}`,
  discord: snowflake(),
});
const ada = person('ada', ['operators']);
const grace = person('grace', ['operators']);
const linus = person('linus', ['operators']);
const mallory = person('mallory', ['visitors']);
const nobody: TestPrincipal = { name: 'nobody', groups: [], token: 'hpt_is_not_a_token' };

let system: System;
let discord: DiscordStandIn;
let orchestrator: NatsConnection;
let drivers: Readonly<Record<string, SurfaceDriver>>;
beforeAll(async () => {
  system = await createSystem();
  discord = await startDiscord(system.folder);
  const operator: TestPrincipal = { name: 'operator', groups: ['operators'], token: system.client.token };
  const principals = await writePrincipals(system.folder, [operator, ada, grace, linus, mallory]);
  const started = await Promise.all(
    SERVICES.map((service) =>
      system.start(
        service,
        service === 'approvals' ? { ...discord.env, HOLDPOINT_PRINCIPALS_FILE: principals } : {},
      ),
    ),
  );
  const port = started[SERVICES.indexOf('approvals')]?.httpPort ?? 0;
  const base = `http://127.0.0.1:${String(port)}`;
  orchestrator = await system.connect('orchestrator');
  drivers = Object.fromEntries(
    [
      onTheBus(system),
      onTheCommandLine(system),
      overHttp(base),
      overTheConsole(base),
      overWebSocket(base),
      onDiscord(system, discord, port),
    ].map((driver) => [driver.name, driver]),
  );
});
afterAll(async () => {
  await system.stop();
  await discord.stop();
});

const view = (id: RequestApproval['id']) => system.client.ask('approvals', 'get', { id });

/** A request that the service has received. */
const newRequest = async (more: Partial<RequestApproval> = {}): Promise<RequestApproval> => {
  const request = requestOf(more);
  await publishRequest(orchestrator, request);
  await until(`${request.id} is there`, () => view(request.id));
  return request;
};

/** Surfaces on which a decision is a free request. On Discord a decision needs a message. */
const BY_REQUEST = ['the bus', 'the command line', 'HTTP', 'the console', 'WebSocket'] as const;
const SURFACES = [...BY_REQUEST, 'Discord'] as const;

const on = (name: string) => (as: TestPrincipal, request: DecideApproval) => {
  const driver = drivers[name];
  if (driver === undefined) throw new Error(`no surface is called ${name}`);
  return driver.decide(as, request);
};

describe.each(BY_REQUEST)('a decision over %s', (name) => {
  const decide = on(name);
  test('a decision without valid credentials is refused, always with the same text', async () => {
    const { id } = await newRequest();
    expect(await decide(nobody, { id, decision: 'approve' })).toMatchObject({
      code: 'APPROVALS_UNAUTHENTICATED',
    });
    expect(await view(id)).toMatchObject({ status: 'pending' });
  });

  test('a decision on an unknown approval is refused', async () => {
    expect(await decide(ada, { id: requestOf().id, decision: 'approve' })).toMatchObject({
      code: 'APPROVALS_UNKNOWN',
    });
  });

  test('a decision on an effect that differs from the one shown is refused', async () => {
    const { id } = await newRequest();
    expect(await decide(ada, { id, decision: 'approve', digest: 'f'.repeat(64) })).toMatchObject({
      code: 'APPROVALS_DIGEST_MISMATCH',
    });
    expect(await view(id)).toMatchObject({ status: 'pending' });
  });
});

/** The question about a stuck job as the orchestrator sends it: its effect is only a name. */
const stuck = (): Partial<RequestApproval> => {
  const sample = sampleEffect();
  const effect: CanonicalEffect = {
    ...sample,
    uses: 'control.recover',
    args: {},
    kind: 'other',
    effectClass: 'idempotent',
    target: `job:${sample.task}/${sample.node}`,
    idempotencyKey: 'stuck',
  };
  const { task, node, idempotencyKey } = effect;
  return {
    id: approvalIdOf(task, node, 1),
    task,
    node,
    effect,
    effectId: effectIdOf(task, node, idempotencyKey),
    digest: effectDigest(effect),
    title: 'stuck: append a line',
    stuck: { class: 'CIRCULAR_FIX', reason: 'the same approach three times' },
    body: `# append is stuck\n\n${'It was tried three times. '.repeat(1_200)}`,
  };
};

describe.each(SURFACES)('a question about a stuck job over %s', (name) => {
  const decide = on(name);

  test.each(StuckAnswer.options)(
    '%s is recorded with its author and surface, without a grant',
    async (answer) => {
      const { id } = await newRequest(stuck());
      expect(await decide(ada, { id, decision: answer })).toMatchObject({ ok: { id, status: 'answered' } });
      const shown = await view(id);
      expect(shown).toMatchObject({
        status: 'answered',
        answer,
        decidedBy: 'ada',
        surface: drivers[name]?.surface,
      });
      const { items } = await system.client.ask('approvals', 'audit', { about: id });
      const { entry = '{}' } = items.find(({ type }) => type === 'resolved') ?? {};
      const line = JSON.parse(entry) as Readonly<Record<string, unknown>>;
      expect(line).toMatchObject({ outcome: 'answered', answer, by: 'ada' });
      expect(Object.keys(line).filter((key) => key.endsWith('Sha256'))).toEqual([]);
    },
  );

  test.each(['approve', 'reject', 'applied'] as const)('%s is no answer to a stuck job', async (decision) => {
    const { id } = await newRequest(stuck());
    expect(await decide(ada, { id, decision })).toMatchObject({ code: 'APPROVALS_NO_CHOICE' });
    expect(await view(id)).toMatchObject({ status: 'pending' });
  });

  test('a second answer gets the first answer and its author', async () => {
    const { id } = await newRequest(stuck());
    await drivers[name]?.see?.(id);
    await system.client.ask('approvals', 'decide', { id, decision: 'skip' }, grace.token);
    expect(await decide(ada, { id, decision: 'retry' })).toMatchObject({
      code: 'APPROVALS_ALREADY_DECIDED',
      message: expect.stringMatching(/answered.*(skip|left out).*grace/is) as unknown,
    });
    expect(await view(id)).toMatchObject({ status: 'answered', answer: 'skip', decidedBy: 'grace' });
  });

  test('an answer by an outsider is refused', async () => {
    const { id } = await newRequest(stuck());
    expect(await decide(mallory, { id, decision: 'skip' })).toMatchObject({ code: 'APPROVALS_NOT_ENTITLED' });
  });
});

/** The request of a program as the orchestrator sends it: its effect is only a name. */
const wanting = (input: InputRequest): Partial<RequestApproval> => {
  const sample = sampleEffect();
  const effect: CanonicalEffect = {
    ...sample,
    uses: 'control.input',
    args: {},
    kind: 'other',
    effectClass: 'idempotent',
    target: `job:${sample.task}/${sample.node}`,
    idempotencyKey: 'input:1',
  };
  const { task, node, idempotencyKey } = effect;
  return {
    id: inputIdOf(task, 1),
    task,
    node,
    effect,
    effectId: effectIdOf(task, node, idempotencyKey),
    digest: effectDigest(effect),
    title: 'Ship it?',
    input,
  };
};

const CHOICE: InputRequest = {
  kind: 'choice',
  options: Array.from({ length: 25 }, (_, i) => ({ value: `v${String(i)}`, label: `v${String(i)}` })),
};
const TEXT: InputRequest = { kind: 'text', maxLength: 40 };
const FORM: InputRequest = {
  kind: 'form',
  fields: [
    { type: 'choice', name: 'env', required: true, options: [{ value: 'prod', label: 'Production' }] },
    { type: 'number', name: 'percent', required: true, integer: true, min: 1, max: 100 },
    { type: 'boolean', name: 'watched', required: false },
    { type: 'text', name: 'comment', label: 'Why?', required: false, multiline: true },
  ],
};

describe.each(SURFACES)('a request of a program over %s', (name) => {
  const decide = on(name);

  test.each<readonly [InputRequest['kind'], InputRequest, Json]>([
    ['approval', { kind: 'approval' }, true],
    ['approval', { kind: 'approval' }, false],
    ['choice', CHOICE, 'v24'],
    ['text', TEXT, 'as it *is*, @ada'],
    ['form', FORM, { env: 'prod', percent: 5, watched: false, comment: 'why not' }],
  ])(
    '%s: the response is recorded with its author and surface, without a grant',
    async (_, input, response) => {
      const { id } = await newRequest(wanting(input));
      expect(await decide(ada, { id, decision: 'respond', response })).toMatchObject({
        ok: { id, status: 'answered' },
      });
      expect(await view(id)).toMatchObject({
        status: 'answered',
        response,
        decidedBy: 'ada',
        surface: drivers[name]?.surface,
      });
      const { items } = await system.client.ask('approvals', 'audit', { about: id });
      const lineOf = (type: string) =>
        JSON.parse(items.find((item) => item.type === type)?.entry ?? '{}') as Readonly<
          Record<string, unknown>
        >;
      expect(lineOf('requested')).toMatchObject({ input });
      expect(lineOf('resolved')).toMatchObject({ outcome: 'answered', response, by: 'ada' });
      expect(Object.keys(lineOf('resolved')).filter((key) => key.endsWith('Sha256'))).toEqual([]);
    },
  );

  test.each([
    ['approve', true],
    ['reject', false],
  ] as const)('%s is a yes or a no, without a comment', async (decision, response) => {
    const { id } = await newRequest(wanting({ kind: 'approval' }));
    expect(await decide(ada, { id, decision })).toMatchObject({ ok: { id, status: 'answered' } });
    expect(await view(id)).toMatchObject({ status: 'answered', response, decidedBy: 'ada' });
  });

  test.each<readonly [InputRequest, Json, RegExp]>([
    [TEXT, 'x'.repeat(41), /at most 40 characters/],
    [FORM, { env: 'moon', percent: 5.5 }, /env: one of prod; percent: enter a whole number/],
  ])('%j does not accept %j and keeps waiting', async (input, response, problem) => {
    const { id } = await newRequest(wanting(input));
    expect(await decide(ada, { id, decision: 'respond', response })).toMatchObject({
      code: 'APPROVALS_RESPONSE_INVALID',
      message: expect.stringMatching(problem) as unknown,
    });
    expect(await view(id)).toMatchObject({ status: 'pending' });
  });

  test.each(['approve', 'applied', 'skip'] as const)('%s is no answer to a choice', async (decision) => {
    const { id } = await newRequest(wanting(CHOICE));
    expect(await decide(ada, { id, decision })).toMatchObject({ code: 'APPROVALS_NO_CHOICE' });
    expect(await view(id)).toMatchObject({ status: 'pending' });
  });

  test('a second response gets the first response and its author', async () => {
    const { id } = await newRequest(wanting(CHOICE));
    await drivers[name]?.see?.(id);
    await system.client.ask('approvals', 'decide', { id, decision: 'respond', response: 'v3' }, grace.token);
    expect(await decide(ada, { id, decision: 'respond', response: 'v4' })).toMatchObject({
      code: 'APPROVALS_ALREADY_DECIDED',
      message: expect.stringMatching(/answered.*v3.*grace/is) as unknown,
    });
    expect(await view(id)).toMatchObject({ status: 'answered', response: 'v3', decidedBy: 'grace' });
  });

  test('a response by an outsider is refused', async () => {
    const { id } = await newRequest(wanting(TEXT));
    expect(await decide(mallory, { id, decision: 'respond', response: 'yes' })).toMatchObject({
      code: 'APPROVALS_NOT_ENTITLED',
    });
  });
});

test('a bulk decision covers several approvals alike and skips requests of programs', async () => {
  const [effect, question] = [await newRequest(), await newRequest(wanting({ kind: 'approval' }))];
  const { items } = await system.client.ask(
    'approvals',
    'decide_many',
    { items: [{ id: effect.id }, { id: question.id }], decision: 'approve' },
    ada.token,
  );
  expect(items).toMatchObject([
    { id: effect.id, decided: { status: 'approved' } },
    { id: question.id, error: { code: 'APPROVALS_NO_CHOICE' } },
  ]);
  expect(await view(question.id)).toMatchObject({ status: 'pending' });
});

test('an unanswered request of a program expires and is not repeated', async () => {
  const { id } = await newRequest({ ...wanting(TEXT), timeoutMs: 1_000 });
  await untilTrue('it has expired', async () => (await view(id)).status === 'expired');
  expect(await view(id)).toMatchObject({ surface: 'clock' });
});

describe('a request about a stuck job', () => {
  test('a request about a stuck job is listed like any other and has no risk', async () => {
    const { id, task } = await newRequest(stuck());
    const { items } = await system.client.ask('approvals', 'list', { task, risk: 'low', kind: 'other' });
    expect(items).toMatchObject([{ id, risk: 'low', stuck: { class: 'CIRCULAR_FIX' } }]);
    const found = await system.client.ask('approvals', 'list', { search: `stuck ${task}` });
    expect(found.items.map((item) => item.id)).toEqual([id]);
  });

  test('a request about a stuck job and an in-doubt effect at once is a dead letter', async () => {
    const request = requestOf({ ...stuck(), inDoubt: { epoch: 1, reason: 'lost' } });
    const letters = watchDeadLetters(system.client.connection);
    await publishRequest(orchestrator, request);
    const { reason } = await until('it is among the dead letters', async () =>
      (await letters.all()).find(({ body }) => body.includes(request.id)),
    );
    expect(reason).toMatchObject({
      code: 'CONTRACT_INVALID',
      message: expect.stringContaining('a request may contain only one question') as unknown,
    });
    await expect(view(request.id)).rejects.toMatchObject({ code: 'APPROVALS_UNKNOWN' });
  });
});

describe.each(SURFACES)('a vote over %s', (name) => {
  const decide = on(name);
  const elsewhere = (as: TestPrincipal, request: DecideApproval) =>
    system.client.ask('approvals', 'decide', request, as.token);

  test.each([
    ['approve', 'approved'],
    ['reject', 'rejected'],
    ['request_changes', 'changes_requested'],
  ] as const)('%s is recorded with its author, comment and surface', async (decision, status) => {
    const { id, digest } = await newRequest();
    const { surface, hasButtons = false } = drivers[name] ?? {};
    // A button has no comment; a form asks for it.
    const comment = hasButtons && decision === 'approve' ? undefined : 'as it was agreed: "yes", said ada';
    const said = { id, decision, digest, ...(comment !== undefined && { comment }) };
    expect(await decide(ada, said)).toMatchObject({ ok: { id } });
    expect(await view(id)).toMatchObject({
      status,
      decidedBy: 'ada',
      surface,
      ...(comment !== undefined && { comment }),
    });
  });

  test('a vote by an outsider is refused and recorded', async () => {
    const { id } = await newRequest();
    expect(await decide(mallory, { id, decision: 'approve' })).toMatchObject({
      code: 'APPROVALS_NOT_ENTITLED',
    });
    expect(await view(id)).toMatchObject({ status: 'pending' });
    const { items } = await system.client.ask('approvals', 'audit', { about: id });
    expect(items.map(({ type }) => type)).toContain('decision_refused');
  });

  test('a late vote gets the decision that stands and its author', async () => {
    const { id } = await newRequest();
    // With the page or message from before the decision: a later one has no choice left.
    await drivers[name]?.see?.(id);
    await elsewhere(grace, { id, decision: 'reject' });
    expect(await decide(ada, { id, decision: 'approve' })).toMatchObject({
      code: 'APPROVALS_ALREADY_DECIDED',
      message: expect.stringMatching(/rejected.*grace/is) as unknown,
    });
    expect(await view(id)).toMatchObject({ status: 'rejected', decidedBy: 'grace' });
  });

  test('a repeated vote gets the decision of its author', async () => {
    const { id } = await newRequest();
    await decide(ada, { id, decision: 'approve' });
    expect(await decide(ada, { id, decision: 'approve' })).toMatchObject({
      ok: { status: 'approved', by: 'ada' },
    });
  });

  test('a quorum of two takes two people', async () => {
    const { id } = await newRequest({ policy: { quorum: 2 } });
    expect(await decide(ada, { id, decision: 'approve' })).toMatchObject({
      ok: { status: 'pending', approvalsMissing: 1 },
    });
    expect(await decide(ada, { id, decision: 'approve' })).toMatchObject({ ok: { status: 'pending' } });
    expect(await decide(grace, { id, decision: 'approve' })).toMatchObject({ ok: { status: 'approved' } });
    const { votes = [] } = await view(id);
    expect(votes.map(({ by }) => by)).toEqual(['ada', 'grace']);
  });

  test('a veto ends a request despite earlier approvals', async () => {
    const { id } = await newRequest({ policy: { quorum: 3 } });
    await elsewhere(ada, { id, decision: 'approve' });
    expect(await decide(grace, { id, decision: 'reject' })).toMatchObject({ ok: { status: 'rejected' } });
  });

  test('the requester cannot decide when four eyes are required', async () => {
    const { id } = await newRequest({ policy: { fourEyes: true } });
    expect(await decide(linus, { id, decision: 'approve' })).toMatchObject({ code: 'APPROVALS_FOUR_EYES' });
    expect(await decide(ada, { id, decision: 'approve' })).toMatchObject({ ok: { status: 'approved' } });
  });

  test('a decision that the gate does not allow is refused', async () => {
    const { id } = await newRequest({ policy: { decisions: ['approve', 'reject'] } });
    expect(await decide(ada, { id, decision: 'request_changes', comment: 'no' })).toMatchObject({
      code: 'APPROVALS_NO_CHOICE',
    });
  });

  test('a request is expired after its deadline, whatever the vote', async () => {
    const { id } = await newRequest({ timeoutMs: 1_500 });
    await drivers[name]?.see?.(id);
    await untilTrue('it has expired', async () => (await view(id)).status === 'expired');
    expect(await decide(ada, { id, decision: 'approve' })).toMatchObject({
      code: 'APPROVALS_ALREADY_DECIDED',
      message: expect.stringMatching(/expired/i) as unknown,
    });
  });
});
