import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRest, type DiscordRest, type NewMessage } from '@holdpoint/approvals/surfaces/discord/rest';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type DiscordStandIn, startDiscord, type Trouble } from '../../kit/surfaces/discord.ts';
import { recordingLogger } from '../../kit/stack/log-record.ts';

let folder: string;
let discord: DiscordStandIn;
let rest: DiscordRest;
let record: ReturnType<typeof recordingLogger>;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdpoint-discord-'));
  discord = await startDiscord(folder);
  record = recordingLogger('approvals');
  const { HOLDPOINT_TEST_DISCORD_API: api, HOLDPOINT_DISCORD_CHANNEL: channel } = discord.env;
  rest = createRest({ api, channel, token: discord.token }, record.log);
});
afterEach(async () => {
  rest.stop();
  await discord.stop();
  await rm(folder, { recursive: true });
});

let count = 0;
const message = (): NewMessage => {
  count += 1;
  return {
    content: 'a message',
    allowed_mentions: { parse: [] },
    nonce: `n-${String(count)}`,
    enforce_nonce: true,
  };
};

const failureOf = async (): Promise<{ kind: string; text: string }> => {
  const error: unknown = await rest.create(message()).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'DiscordFailure' });
  const { kind, message: text, cause } = error as Error & { kind: string };
  expect(`${text} ${String(cause)}`).not.toContain(discord.token);
  return { kind, text };
};

test('the same message is posted once and has one id', async () => {
  const one = message();
  const id = await rest.create(one);
  expect(await rest.create(one)).toBe(id);
  expect(discord.messages().map((made) => made.id)).toEqual([id]);
});

test.each<readonly [string, Trouble, string]>([
  ['ends the connection', 'silence', 'away'],
  ['answers 500', { status: 500 }, 'away'],
  ['answers 403', { status: 403, body: { code: 50_001 } }, 'refused'],
  ['answers with an unexpected body', { status: 200, body: { id: '../x' } }, 'refused'],
  ['asks for a delay', { status: 429, body: { retry_after: 60 } }, 'waiting'],
])('when Discord %s, the client reports it after one request', async (_what, trouble, kind) => {
  discord.trouble(trouble);
  expect(await failureOf()).toMatchObject({ kind });
  expect(discord.sent()).toHaveLength(1);
});

test('after three failures the client pauses and logs it once', async () => {
  discord.trouble({ status: 503 });
  const kinds = [];
  for (let i = 0; i < 8; i += 1) kinds.push((await failureOf()).kind);
  expect(kinds).toEqual(['away', 'away', 'away', ...Array.from({ length: 5 }, () => 'waiting')]);
  expect(discord.sent()).toHaveLength(3);
  expect(rest.isOpen()).toBe(true);
  expect((await record.lines()).map(({ msg }) => msg)).toEqual(['discord circuit opened: notices wait']);
});

test('a request that Discord refuses does not count as a failure', async () => {
  discord.trouble({ status: 404, body: { code: 10_003 } });
  for (let i = 0; i < 8; i += 1) await failureOf();
  expect([discord.sent().length, rest.isOpen()]).toEqual([8, false]);
});

test('the client waits for the time that Discord has set', async () => {
  discord.trouble({ status: 429, body: { retry_after: 60 } }, 1);
  await failureOf();
  expect(await failureOf()).toMatchObject({ kind: 'waiting' });
  expect(discord.sent()).toHaveLength(1);
});

test.each<readonly [string, Trouble]>([
  ['a rate limit error', { status: 429, body: { retry_after: 0.2 } }],
  [
    'an answer that exhausts the rate limit',
    {
      status: 200,
      body: { id: '1' },
      headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset-after': '0.2' },
    },
  ],
])('the client waits for a short pause after %s', async (_what, trouble) => {
  discord.trouble(trouble, 1);
  await rest.create(message()).catch(() => undefined);
  expect(await rest.create(message())).toMatch(/^\d+$/);
  expect(discord.messages()).toHaveLength(1);
});

test('the token goes to Discord only, whatever a redirect says', async () => {
  const other = await startDiscord(folder);
  const location = `${other.env.HOLDPOINT_TEST_DISCORD_API}/channels/1/messages`;
  discord.trouble({ status: 307, headers: { location } });
  expect(await failureOf()).toMatchObject({ kind: 'away' });
  expect(other.sent()).toEqual([]);
  await other.stop();
});

test('a request in progress ends when the client stops', async () => {
  discord.trouble('hang');
  const waiting = failureOf();
  await expect.poll(() => discord.sent().length).toBe(1);
  rest.stop();
  expect(await waiting).toMatchObject({ kind: 'waiting' });
});
