import { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { type ApprovalId, approvalIdOf, effectIdOf } from '@holdpoint/contracts/values/ids';
import type { InputRequest } from '@holdpoint/contracts/workflow/input';
import { SERVICES, type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { NASTY } from '../../fuzz/hostile/strings.ts';
import { publish } from '../../kit/bus/consumers.ts';
import {
  buttonOf,
  type DiscordAnswer,
  type DiscordMessage,
  type DiscordStandIn,
  type Forged,
  snowflake,
  startDiscord,
} from '../../kit/surfaces/discord.ts';
import { appliedByKey } from '../../kit/effects/effect-file.ts';
import { approvalsPool } from '../../kit/surfaces/inbox.ts';
import type { ServiceInProcess } from '../../kit/stack/in-process.ts';
import { sampleEffect } from '../../kit/effects/orders.ts';
import { type TestPrincipal, writePrincipals } from '../../kit/stack/principals.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { submitSample, waitForPhase } from '../../kit/tasks/tasks.ts';
import { until, untilTrue } from '../../kit/until.ts';
import { z } from 'zod';

const [ADA, GRACE, MALLORY, STRANGER] = [snowflake(), snowflake(), snowflake(), snowflake()];
const people: readonly TestPrincipal[] = [
  { name: 'ada', groups: ['operators'], token: 'hpt_ada', discord: ADA },
  { name: 'grace', groups: ['operators'], token: 'hpt_grace', discord: GRACE },
  { name: 'mallory', groups: ['guests'], token: 'hpt_mallory', discord: MALLORY },
];
const UUID_V4 = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/;
const EPHEMERAL = 64;
/** Except for line ends, which the renderer adds. */
const UNSEEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

let system: System;
let discord: DiscordStandIn;
let orchestrator: NatsConnection;
let env: Record<string, string>;
let pool: Awaited<ReturnType<typeof approvalsPool>>;
const services = new Map<ServiceName, ServiceInProcess>();
beforeAll(async () => {
  system = await createSystem();
  discord = await startDiscord(system.folder);
  const operator = { name: 'operator', groups: ['operators'], token: system.client.token };
  env = {
    ...discord.env,
    HOLDPOINT_PRINCIPALS_FILE: await writePrincipals(system.folder, [operator, ...people]),
  };
  await Promise.all(
    SERVICES.map(async (service) =>
      services.set(service, await system.start(service, service === 'approvals' ? env : {})),
    ),
  );
  orchestrator = await system.connect('orchestrator');
  pool = await approvalsPool(system.database);
});
afterAll(async () => {
  await pool.end();
  await system.stop();
  await discord.stop();
});
afterEach(() => discord.well());

const port = (): number => services.get('approvals')?.httpPort ?? 0;

/** A request as the orchestrator sends it, without a submitted task. */
const ask = async (
  change: Partial<RequestApproval> = {},
  effectChange: Partial<CanonicalEffect> = {},
): Promise<ApprovalId> => {
  const effect = sampleEffect(effectChange);
  const { task, node } = effect;
  const request = RequestApproval.parse({
    id: approvalIdOf(task, node, 1),
    task,
    node,
    revision: 1,
    effectId: effectIdOf(task, node, effect.idempotencyKey),
    effect,
    digest: effectDigest(effect),
    title: 'append a line',
    requestedBy: 'linus',
    audience: ['operators'],
    timeoutMs: 300_000,
    ...change,
  });
  await publish(orchestrator, subjects.approvalCommand('request'), JSON.stringify(request));
  return request.id;
};

const messageFor = (approval: string): Promise<DiscordMessage> =>
  until(`discord shows ${approval}`, () => discord.messageOf(approval));

const messageWhen = (
  approval: string,
  what: string,
  is: (message: DiscordMessage) => boolean,
): Promise<DiscordMessage> =>
  until(`the message of ${approval} ${what}`, () => {
    const message = discord.messageOf(approval);
    return message !== undefined && is(message) ? message : undefined;
  });

const ended = (approval: string): Promise<DiscordMessage> =>
  messageWhen(approval, 'has no buttons', ({ components }) => components.length === 0);

const nonceOf = (body: unknown): unknown => z.looseObject({ nonce: z.string().optional() }).parse(body).nonce;

const fieldsOf = (message: DiscordMessage): Readonly<Record<string, string>> =>
  Object.fromEntries(message.embeds.flatMap(({ fields }) => fields.map(({ name, value }) => [name, value])));

const labels = (message: DiscordMessage): readonly (readonly string[])[] =>
  message.components.map(({ components }) => components.map(({ label }) => label));

const get = (id: ApprovalId) => system.client.ask('approvals', 'get', { id });

const pressed = async (
  message: DiscordMessage,
  label: string,
  user = ADA,
  forged?: Forged,
): Promise<DiscordAnswer> => discord.press({ port: port(), user, message }, label, forged);

/** The types of the events of an approval. */
const eventsOf = async (approval: string): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ type: string }>(
    'SELECT type FROM events WHERE aggregate = $1 ORDER BY version',
    [approval],
  );
  return rows.map(({ type }) => type);
};

/** Sends the form of a button with a text. */
const filled = async (message: DiscordMessage, label: string, comment: string): Promise<DiscordAnswer> => {
  const form = await pressed(message, label);
  expect(form).toMatchObject({ status: 200, type: 9 });
  return discord.submit({ port: port(), user: ADA, message }, form.data?.custom_id ?? '', comment);
};

const whispered = (answer: DiscordAnswer): string => {
  expect(answer).toMatchObject({ status: 200, type: 4, data: { flags: EPHEMERAL } });
  return answer.data?.content ?? '';
};

const figure = async (result: string): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${String(port())}/metrics`)).text();
  const line = text
    .split('\n')
    .find(
      (each) => each.startsWith('holdpoint_discord_interactions{') && each.includes(`result="${result}"`),
    );
  return Number(line?.split(' ').at(-1) ?? 0);
};

const logged = async (): Promise<string> =>
  JSON.stringify(await Promise.all([...services.values()].map((service) => service.lines())));

describe('a request on Discord', () => {
  test('a message shows the exact effect, with Approve and Reject in its first row and a token of its own', async () => {
    const task = await submitSample(system.client);
    const { approval } = task;
    const message = await messageFor(approval);
    const { digest, expiresAt } = await get(approval);
    expect(labels(message)).toEqual([
      ['Approve', 'Reject'],
      ['Request changes…', 'Reject with reason…', 'Approve and remember'],
    ]);
    expect(fieldsOf(message)).toMatchObject({
      Action: 'cap.file.append',
      Kind: 'write\\_external',
      Risk: 'medium',
      Target: 'file\\:sample.txt',
      'Requested by': 'operator',
      'May decide': 'operators',
      Digest: `\`${digest}\``,
    });
    expect(fieldsOf(message)['Decide']).toContain(`<t:${String(Math.floor(expiresAt / 1_000))}:R>`);
    expect(message.embeds[0]?.description).toContain(task.line);
    expect(message.allowed_mentions).toEqual({ parse: [] });
    const ids = message.components.flatMap(({ components }) => components.map((button) => button.custom_id));
    const tokens = new Set(ids.map((id) => UUID_V4.exec(id)?.[0]));
    expect(tokens.size).toBe(1);
    expect(tokens.has(undefined)).toBe(false);
  });

  test('a question about an in-doubt effect has three buttons, and its message shows the answer', async () => {
    const approval = await ask({
      inDoubt: { epoch: 2, reason: 'the worker was lost' },
      title: 'Did it happen?',
    });
    const message = await messageFor(approval);
    expect(labels(message)).toEqual([['It happened', 'It did not happen', 'Do it again']]);
    expect(message.embeds[0]?.description).toContain('the worker was lost');
    expect(await pressed(message, 'It did not happen')).toMatchObject({ status: 200, type: 7 });
    expect(await get(approval)).toMatchObject({
      status: 'answered',
      answer: 'not_applied',
      decidedBy: 'ada',
      surface: 'discord',
    });
    expect(fieldsOf(await ended(approval))['Decision']).toContain(
      '**Answered**: it did not happen, by ada on Discord',
    );
  });

  test('a question about a stuck job shows as much of the report as fits, and then the answer', async () => {
    const approval = await ask(
      {
        stuck: { class: 'VERIFICATION_FAILED', reason: 'three times *red*' },
        title: 'stuck: append a line',
        body: `# Report\n${'the same again. '.repeat(2_000)}`,
      },
      { kind: 'other', effectClass: 'idempotent', args: {}, target: 'job:t-1/append' },
    );
    const message = await messageFor(approval);
    const { task, node } = await get(approval);
    expect(labels(message)).toEqual([['Try again', 'Skip', 'Mark as done', 'Cancel']]);
    expect(message.embeds[0]?.title).toBe('A job is stuck: stuck\\: append a line');
    const shown = message.embeds[0]?.description ?? '';
    expect(shown).toContain('three times \\*red\\*');
    expect(shown).toContain('> \\# Report');
    expect(shown).toContain(`(cut; all of it: \`holdpoint recovery report ${task}/${node}\`)`);
    expect(fieldsOf(message)).toMatchObject({ Failure: 'VERIFICATION\\_FAILED' });
    expect(await pressed(message, 'Mark as done')).toMatchObject({ status: 200, type: 7 });
    expect(await get(approval)).toMatchObject({ status: 'answered', answer: 'done', surface: 'discord' });
    expect(fieldsOf(await ended(approval))['Decision']).toContain(
      '**Answered**: mark as done, by ada on Discord',
    );
    const late = await pressed(message, 'Cancel', GRACE);
    expect(whispered(late)).toContain('Already decided. **Answered**: mark as done, by ada');
  });

  test('the form of a program reports invalid fields, and its message shows the response', async () => {
    const input: InputRequest = {
      kind: 'form',
      fields: [
        {
          type: 'choice',
          name: 'env',
          label: 'Where *to*?',
          required: true,
          options: [
            { value: 'test', label: 'Test' },
            { value: 'prod', label: 'Production' },
          ],
        },
        { type: 'number', name: 'percent', required: true, integer: true },
        { type: 'text', name: 'comment', required: false },
      ],
    };
    const approval = await ask({ input, title: 'Ship *it*?', body: 'all is @green' });
    const message = await messageFor(approval);
    expect(labels(message)).toEqual([['Fill in…']]);
    expect(message.embeds[0]?.title).toBe('A program asks: Ship \\*it\\*?');
    expect(message.embeds[0]?.description).toContain('> all is \\@green');
    expect(message.embeds[0]?.description).toContain('Where \\*to\\*?, one of test, prod');
    const form = await pressed(message, 'Fill in…');
    expect(form).toMatchObject({
      status: 200,
      type: 9,
      data: { components: [{ label: 'Where *to*?' }, {}, {}] },
    });
    const send = (typed: Readonly<Record<string, string>>, user = ADA) =>
      discord.submit({ port: port(), user, message }, form.data?.custom_id ?? '', typed);
    const wrong = whispered(await send({ env: 'moon', percent: 'five', comment: '' }));
    expect(wrong).toContain('env\\: one of test, prod; percent\\: enter a number');
    expect((await get(approval)).status).toBe('pending');
    expect(whispered(await send({ env: 'test', percent: '5' }, MALLORY))).toContain('NOT\\_ENTITLED');
    expect(await send({ env: 'production', percent: '5', comment: '' })).toMatchObject({
      status: 200,
      type: 7,
    });
    expect(await get(approval)).toMatchObject({
      status: 'answered',
      response: { env: 'prod', percent: 5 },
      decidedBy: 'ada',
      surface: 'discord',
    });
    const after = await ended(approval);
    expect(fieldsOf(after)['Response']).toContain('"env": "prod"');
    expect(fieldsOf(after)['Decision']).toContain('**Answered**: a form, by ada on Discord');
    expect(whispered(await pressed(message, 'Fill in…', GRACE))).toContain('Already decided');
  });

  test('the message of a program shows a response from another surface', async () => {
    const approval = await ask({ input: { kind: 'text' }, title: 'What shall it be called?' });
    const message = await messageFor(approval);
    expect(labels(message)).toEqual([['Answer…']]);
    await system.client.ask('approvals', 'decide', {
      id: approval,
      decision: 'respond',
      response: `@everyone \u202e[x](https://e.example) ${'x'.repeat(5_000)}`,
    });
    const after = await ended(approval);
    expect(after.id).toBe(message.id);
    expect(fieldsOf(after)['Response']).toMatch(/^> \\@everyone \\\\u\\\{202e\\\}\\\[x\\\]/);
    expect(fieldsOf(after)['Response']).toContain(`all of it: \`holdpoint approval show ${approval}\``);
  });

  test('a request that no Discord form can hold is answered on the command line', async () => {
    const fields: InputRequest = {
      kind: 'form',
      fields: Array.from({ length: 6 }, (_, i) => ({
        type: 'boolean',
        name: `f${String(i)}`,
        required: false,
      })),
    };
    const approval = await ask({ input: fields });
    const message = await messageFor(approval);
    expect(message.components).toEqual([]);
    expect(fieldsOf(message)['Answer']).toBe(
      `on the command line: \`holdpoint approval answer ${approval}\``,
    );
  });

  test('a reminder and an escalation are replies to the message', async () => {
    const approval = await ask({
      policy: { remindMs: [1_000], handOn: [{ afterMs: 1_500, audience: ['group:guests'] }] },
    });
    const message = await messageFor(approval);
    const replies = () =>
      discord.messages().filter(({ message_reference: of }) => of?.message_id === message.id);
    await untilTrue('there are two replies', () => replies().length === 2);
    expect(replies()[0]?.content).toContain('Reminder: a decision is due');
    expect(replies()[1]?.content).toContain('group\\:guests');
    await messageWhen(
      approval,
      'says who may decide by now',
      (shown) => fieldsOf(shown)['May decide'] === 'operators, group\\:guests',
    );
    expect(await pressed(message, 'Approve', MALLORY)).toMatchObject({ type: 7 });
    expect(await get(approval)).toMatchObject({ status: 'approved', decidedBy: 'mallory' });
  });
});

describe('a decision by a button', () => {
  test('approve lets the effect run once, and the message names the approver', async () => {
    const task = await submitSample(system.client);
    const message = await messageFor(task.approval);
    const answer = await pressed(message, 'Approve');
    expect(answer).toMatchObject({ status: 200, type: 7, data: { components: [] } });
    await waitForPhase(system.client, task.id, 'completed');
    expect((await appliedByKey(system.workspace)).get(task.effect)).toBe(1);
    expect(await get(task.approval)).toMatchObject({
      status: 'approved',
      decidedBy: 'ada',
      surface: 'discord',
    });
    expect(fieldsOf(await ended(task.approval))['Decision']).toContain(
      '**Approved**, by ada on Discord, <t:',
    );
  });

  test('reject ends the task with ERR_FORBIDDEN', async () => {
    const task = await submitSample(system.client);
    expect(await pressed(await messageFor(task.approval), 'Reject')).toMatchObject({ type: 7 });
    const view = await waitForPhase(system.client, task.id, 'failed');
    expect(JSON.stringify(view)).toContain('ERR_FORBIDDEN');
    expect(fieldsOf(await ended(task.approval))['Decision']).toContain('**Rejected**, by ada on Discord');
  });

  test.each([
    ['Request changes…', 'changes_requested', 'paused', '**Changes requested**'],
    ['Reject with reason…', 'rejected', 'failed', '**Rejected**'],
  ] as const)('%s asks for a text, which is recorded and shown', async (label, status, phase, shown) => {
    const task = await submitSample(system.client);
    const message = await messageFor(task.approval);
    expect(await filled(message, label, 'not like *this*, @everyone')).toMatchObject({
      status: 200,
      type: 7,
    });
    await waitForPhase(system.client, task.id, phase);
    expect(await get(task.approval)).toMatchObject({ status, comment: 'not like *this*, @everyone' });
    const fields = fieldsOf(await ended(task.approval));
    expect(fields['Decision']).toContain(shown);
    expect(fields['Comment']).toBe('> not like \\*this\\*, \\@everyone');
  });

  test('approve and remember creates a rule as narrow as the effect that was shown', async () => {
    const approval = await ask({}, { args: { file: 'remembered.txt' }, target: 'file:remembered.txt' });
    expect(await pressed(await messageFor(approval), 'Approve and remember')).toMatchObject({ type: 7 });
    const { remembered } = await get(approval);
    expect(remembered).toMatch(/^u-/);
    expect(fieldsOf(await ended(approval))['Decision']).toContain(`remembered as rule ${remembered ?? ''}`);
    const { items } = await until('the rule is kept', async () => {
      const page = await system.client.ask('approvals', 'rule_list', {});
      return page.items.some(({ id }) => id === remembered) ? page : undefined;
    });
    expect(items.find(({ id }) => id === remembered)).toMatchObject({
      author: 'ada',
      match: { kinds: ['write_external'], capability: 'cap.file.append', target: 'file:remembered.txt' },
      expiresInMs: 30 * 86_400_000,
    });
  });

  test('no rule is offered for a node that needs a person, or when the rule would be broader', async () => {
    const merge = await messageFor(await ask({}, { kind: 'merge' }));
    const broad = await messageFor(
      await ask({}, { args: { file: '*.txt', line: 'x' }, target: 'file:*.txt' }),
    );
    for (const message of [merge, broad])
      expect(labels(message).flat()).not.toContain('Approve and remember');
  });

  test('a quorum of two counts each person once and shows the approvers', async () => {
    const approval = await ask({ policy: { quorum: 2 } });
    const message = await messageFor(approval);
    expect(whispered(await pressed(message, 'Approve'))).toContain('Approvals still needed: 1');
    const half = await messageWhen(
      approval,
      'shows the vote',
      (shown) => fieldsOf(shown)['Votes']?.includes('ada') === true,
    );
    expect(fieldsOf(half)['Votes']).toBe('1 of 2 still needed; ada (approve)');
    expect(whispered(await pressed(message, 'Approve'))).toContain('Approvals still needed: 1');
    expect((await get(approval)).status).toBe('pending');
    expect(await pressed(message, 'Approve', GRACE)).toMatchObject({ type: 7 });
    expect(fieldsOf(await ended(approval))['Decision']).toContain('**Approved**, by ada, grace on Discord');
  });
});

describe('a decision on another surface', () => {
  test('a decision on another surface removes the buttons and is shown', async () => {
    const approval = await ask();
    const before = await messageFor(approval);
    await system.client.ask('approvals', 'decide', {
      id: approval,
      decision: 'reject',
      comment: 'on [x](https://e.example)',
    });
    const after = await ended(approval);
    expect(after.id).toBe(before.id);
    expect(after.embeds[0]?.title).toContain('Rejected:');
    expect(fieldsOf(after)['Decision']).toContain('by operator over the API');
    expect(fieldsOf(after)['Comment']).toBe('> on \\[x\\]\\(https\\://e.example\\)');
    const late = whispered(await pressed(before, 'Approve'));
    expect(late).toContain('Already decided. **Rejected**, by operator');
    expect(whispered(await pressed(before, 'Request changes…'))).toContain('Already decided');
    expect((await get(approval)).status).toBe('rejected');
  });

  test('an expiry removes the buttons and is shown', async () => {
    const approval = await ask({ timeoutMs: 1_000 });
    const message = await ended(approval);
    expect(message.embeds[0]?.title).toContain('Expired:');
    expect(fieldsOf(message)['Decision']).toContain('not decided in time');
  });

  test('a deleted message does not prevent later notices', async () => {
    const approval = await ask();
    const message = await messageFor(approval);
    discord.remove(message.id);
    await system.client.ask('approvals', 'decide', { id: approval, decision: 'approve' });
    await untilTrue('it was tried', () => discord.sent().some(({ path }) => path.endsWith(`/${message.id}`)));
    expect(discord.messageOf(approval)).toBeUndefined();
  });
});

describe('a restarted service', () => {
  test('a restarted service accepts the buttons of its earlier message and edits it', async () => {
    const [pressing, elsewhere] = [await ask(), await ask()];
    const stuck = await ask({ stuck: { class: 'UNKNOWN', reason: 'nobody knows' } });
    const message = await messageFor(pressing);
    const question = await messageFor(stuck);
    const other = await messageFor(elsewhere);
    await untilTrue('both are confirmed', async () =>
      (await Promise.all([pressing, elsewhere].map((id) => eventsOf(id)))).every((types) =>
        types.includes('delivered'),
      ),
    );
    await services.get('approvals')?.stop();
    services.set('approvals', await system.start('approvals', env));
    expect(await pressed(message, 'Approve')).toMatchObject({ status: 200, type: 7 });
    expect(await pressed(question, 'Try again')).toMatchObject({ status: 200, type: 7 });
    expect(await get(stuck)).toMatchObject({ status: 'answered', answer: 'retry' });
    await system.client.ask('approvals', 'decide', { id: elsewhere, decision: 'approve' });
    expect((await ended(pressing)).id).toBe(message.id);
    expect((await ended(elsewhere)).id).toBe(other.id);
  });
});

test('any replica accepts a button of a message that another replica posted', async () => {
  const approval = await ask();
  const message = await messageFor(approval);
  const other = await system.start('approvals', env);
  const answer = await discord.press({ port: other.httpPort, user: GRACE, message }, 'Approve');
  expect(answer).toMatchObject({ status: 200, type: 7 });
  expect(whispered(await pressed(message, 'Reject'))).toContain('**Approved**, by grace on Discord');
  expect((await ended(approval)).id).toBe(message.id);
  await other.stop();
});

test('Discord gets its answer in time although the store is slow, and the message shows the result', async () => {
  const approval = await ask();
  const message = await messageFor(approval);
  const busy = await pool.connect();
  try {
    await busy.query('BEGIN');
    await busy.query('LOCK TABLE heads IN EXCLUSIVE MODE');
    expect(whispered(await pressed(message, 'Approve'))).toContain('This takes longer than usual');
    expect((await get(approval)).status).toBe('pending');
  } finally {
    await busy.query('ROLLBACK');
    busy.release();
  }
  expect(fieldsOf(await ended(approval))['Decision']).toContain('**Approved**, by ada on Discord');
});

describe('an outage of Discord', () => {
  /** Discord answers, and no fault is injected. */
  const settled = async (): Promise<unknown> => messageFor(await ask());

  test.each([
    ['hangs', 'hang'],
    ['closes connections', 'silence'],
    ['answers 503', { status: 503 }],
    ['refuses the channel', { status: 403, body: { code: 50_001, message: 'Missing Access' } }],
    ['asks for a delay', { status: 429, body: { retry_after: 20 } }],
  ] as const)('while Discord %s, other surfaces decide', async (_what, trouble) => {
    discord.trouble(trouble);
    const approval = await ask();
    await until('it is requested', () => get(approval));
    await system.client.ask('approvals', 'decide', { id: approval, decision: 'approve' });
    expect((await get(approval)).status).toBe('approved');
    expect(discord.messageOf(approval)).toBeUndefined();
  });

  test('notices are delivered after an outage, without a second message', async () => {
    await settled();
    discord.trouble('lost', 1);
    const lost = await ask();
    const made = await messageFor(lost);
    discord.trouble('silence');
    const [open, decided] = [await ask(), await ask()];
    await until('both are requested', async () => [await get(open), await get(decided)]);
    await system.client.ask('approvals', 'decide', { id: decided, decision: 'reject' });
    discord.well();
    expect(labels(await messageFor(open))[0]).toEqual(['Approve', 'Reject']);
    expect((await ended(decided)).embeds[0]?.title).toContain('Rejected:');
    expect(await pressed(await messageFor(open), 'Approve')).toMatchObject({ type: 7 });
    const again = () =>
      discord.sent().filter(({ status, body }) => status === 200 && nonceOf(body) === made.nonce);
    await untilTrue('it is requested again', () => again().length > 0);
    expect(discord.messages().filter(({ nonce }) => nonce === made.nonce)).toHaveLength(1);
    await system.client.ask('approvals', 'decide', { id: lost, decision: 'reject' });
    expect((await ended(lost)).id).toBe(made.id);
  });

  test('no log contains the bot token', async () => {
    expect(discord.sent().length).toBeGreaterThan(0);
    expect(await logged()).not.toContain(discord.token);
  });
});

describe('a forged interaction', () => {
  const now = (): number => Math.floor(Date.now() / 1_000);

  test.each<[string, () => Forged]>([
    ['no signature', () => ({ headers: ({ 'x-signature-ed25519': _, ...headers }) => headers })],
    ['no time', () => ({ headers: ({ 'x-signature-timestamp': _, ...headers }) => headers })],
    ['a signature of zeros', () => ({ headers: (h) => ({ ...h, 'x-signature-ed25519': '0'.repeat(128) }) })],
    [
      'half of a signature',
      () => ({
        headers: (h) => ({ ...h, 'x-signature-ed25519': (h['x-signature-ed25519'] ?? '').slice(0, 64) }),
      }),
    ],
    ['another time', () => ({ headers: (h) => ({ ...h, 'x-signature-timestamp': String(now() + 1) }) })],
    ['another body', () => ({ afterSigning: (body) => body.replace(ADA, GRACE) })],
    ['a reserialized body', () => ({ afterSigning: (body) => JSON.stringify(JSON.parse(body), null, 1) })],
    ['a signature of six minutes ago', () => ({ timestamp: String(now() - 360) })],
    ['a signature of in six minutes', () => ({ timestamp: String(now() + 360) })],
    ['an invalid time', () => ({ timestamp: `${String(now())}.0` })],
  ])('an interaction with %s is refused and counted', async (_what, forge) => {
    const approval = await ask();
    const message = await messageFor(approval);
    const before = await figure('APPROVALS_SIGNATURE_INVALID');
    expect(await pressed(message, 'Approve', ADA, forge())).toMatchObject({
      status: 401,
      code: 'APPROVALS_SIGNATURE_INVALID',
    });
    expect(await figure('APPROVALS_SIGNATURE_INVALID')).toBe(before + 1);
    expect((await get(approval)).status).toBe('pending');
  });

  test('a replayed interaction is refused', async () => {
    const approval = await ask({ policy: { quorum: 2 } });
    const message = await messageFor(approval);
    const id = snowflake();
    whispered(await pressed(message, 'Approve', ADA, { id }));
    expect(await pressed(message, 'Approve', ADA, { id })).toMatchObject({
      status: 401,
      code: 'APPROVALS_SIGNATURE_INVALID',
    });
    await pressed(message, 'Approve', GRACE);
    expect(await pressed(message, 'Approve', ADA, { id })).toMatchObject({ status: 401 });
    expect(fieldsOf(await ended(approval))['Decision']).toContain('by ada, grace on Discord');
  });

  test('an interaction that is too large is refused', async () => {
    const huge = JSON.stringify({ type: 1, much: 'x'.repeat(300_000) });
    expect(await discord.send(port(), huge)).toMatchObject({ status: 413 });
  });

  test('a ping of Discord gets its answer', async () => {
    expect(await discord.send(port(), JSON.stringify({ type: 1 }))).toMatchObject({ status: 200, type: 1 });
    expect(await discord.send(port(), '{"type":99}')).toMatchObject({
      status: 400,
      code: 'CONTRACT_INVALID',
    });
    expect(await discord.send(port(), '{')).toMatchObject({ status: 400, code: 'CONTRACT_NOT_JSON' });
    const gone = await fetch(`http://127.0.0.1:${String(port())}/discord/interactions`);
    expect(gone.status).toBe(404);
  });
});

describe('an altered button', () => {
  const parts = (message: DiscordMessage): readonly [string, string, string, string] => {
    const [verb = '', digest = '', token = '', id = ''] = buttonOf(message, 'Approve').custom_id.split('.');
    return [verb, digest, token, id];
  };

  test('an altered button decides nothing', async () => {
    const [one, two] = [await ask(), await ask()];
    const message = await messageFor(one);
    const [verb, digest, token, id] = parts(message);
    const [, , others] = parts(await messageFor(two));
    const before = await figure('APPROVALS_TOKEN_MISMATCH');
    const changed = [
      [verb, digest, others, id],
      [verb, digest, crypto.randomUUID(), id],
      [verb, digest, token, two],
      [verb, digest, '', id],
      ['no!', digest, token, id],
      ['constructor', digest, token, id],
      [verb, digest, token, id, 'more'],
      [verb, digest, token],
      [''],
    ].map((each) => each.join('.'));
    for (const customId of changed) {
      const answer = await pressed(message, 'Approve', ADA, { customId });
      expect([customId, whispered(answer)]).toEqual([
        customId,
        expect.stringContaining('APPROVALS\\_TOKEN\\_MISMATCH'),
      ]);
    }
    const otherDigest = [verb, digest.replace(/^./, (c) => (c === '0' ? '1' : '0')), token, id].join('.');
    const reply = whispered(await pressed(message, 'Approve', ADA, { customId: otherDigest }));
    expect(reply).toContain('APPROVALS\\_DIGEST\\_MISMATCH');
    expect(await figure('APPROVALS_TOKEN_MISMATCH')).toBe(before + changed.length);
    expect([(await get(one)).status, (await get(two)).status]).toEqual(['pending', 'pending']);
  });

  test('a button with an answer to another question, or a form without text, decides nothing', async () => {
    const approval = await ask();
    const message = await messageFor(approval);
    const [, digest, token, id] = parts(message);
    const doubt = await pressed(message, 'Approve', ADA, { customId: `did.${digest}.${token}.${id}` });
    expect(whispered(doubt)).toContain('APPROVALS\\_NO\\_CHOICE');
    expect(whispered(await filled(message, 'Request changes…', ' \n '))).toContain('the text is empty');
    expect((await get(approval)).status).toBe('pending');
  });
});

describe('a person on Discord', () => {
  test('a person who is not in the directory gets a refusal, whatever their display name', async () => {
    const approval = await ask();
    const message = await messageFor(approval);
    const before = await figure('unknown_user');
    expect(whispered(await pressed(message, 'Approve', STRANGER))).toContain('Your Discord user is unknown');
    expect(await figure('unknown_user')).toBe(before + 1);
    expect(await logged()).toContain(STRANGER);
    expect((await get(approval)).status).toBe('pending');
  });

  test('a person without entitlement gets a refusal, which is recorded once', async () => {
    const approval = await ask();
    const message = await messageFor(approval);
    for (let i = 0; i < 3; i += 1)
      expect(whispered(await pressed(message, 'Approve', MALLORY))).toContain('APPROVALS\\_NOT\\_ENTITLED');
    expect((await get(approval)).status).toBe('pending');
    expect((await eventsOf(approval)).filter((type) => type === 'decision_refused')).toHaveLength(1);
  });

  test('a late vote gets the decision that stands, and is not counted', async () => {
    const approval = await ask();
    const message = await messageFor(approval);
    const answers = await Promise.all([
      pressed(message, 'Approve', ADA),
      pressed(message, 'Reject', GRACE),
      pressed(message, 'Approve', ADA),
    ]);
    const { status, decidedBy } = await get(approval);
    const [approves, rejects] = [answers[0]?.type === 7, answers[1]?.type === 7];
    expect([approves, rejects]).toEqual([status === 'approved', status === 'rejected']);
    for (const answer of answers.filter(({ type }) => type === 4))
      expect(answer.data?.content).toContain(`by ${decidedBy ?? ''} on Discord`);
  });
});

test.each(NASTY.filter((text) => text.isWellFormed() && !text.includes('\0') && text !== ''))(
  'text in a request is shown without effect: %j',
  async (text) => {
    const approval = await ask(
      { title: text, requestedBy: text, body: `${text}\n${text}` },
      { target: text, args: { text } },
    );
    const { embeds } = await messageFor(approval);
    const [embed] = embeds;
    const [said = '', block] = (embed?.description ?? '').split('```');
    const texts = [embed?.title, said, ...(embed?.fields.map(({ value }) => value) ?? [])];
    // Outside the block every mark is escaped, and invisible characters are spelt out.
    for (const each of texts) {
      expect(each).not.toMatch(/(?<!\\)@|(?<!\\)\]|(?<!\\)\[/);
      expect(each).not.toMatch(UNSEEN);
    }
    expect(block).not.toMatch(UNSEEN);
    expect(JSON.parse(block?.replace(/^json/, '') ?? '')).toEqual({ text });
    expect(
      said
        .trimEnd()
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('> ')),
    ).toEqual([]);
  },
);
