import { describe, expect, test } from 'vitest';
import { NotifyDiscord, NotifySlack, NotifyWebhook } from './notify.ts';

const webhook = (change: object) =>
  NotifyWebhook.safeParse({
    url: 'https://in.example/x',
    secrets: ['${secret:KEY}'],
    type: 'a.b',
    data: {},
    ...change,
  }).success;
const discord = (change: object) =>
  NotifyDiscord.safeParse({ webhook: '${secret:URL}', content: 'x', ...change }).success;
const slack = (change: object) =>
  NotifySlack.safeParse({ webhook: '${secret:URL}', text: 'x', ...change }).success;

describe('a webhook', () => {
  test('a webhook has an event type, a URL, and secrets by reference', () => {
    expect(webhook({})).toBe(true);
    expect(webhook({ timestamp: '2026-01-02T03:04:05.678Z', secrets: ['${secret:A}', '${secret:B}'] })).toBe(
      true,
    );
  });

  test.each([
    { url: '${secret:URL}' },
    { url: 'https://in.example/${secret:URL}' },
    { secrets: [] },
    { secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'] },
    { secrets: ['${secret:A} '] },
    { secrets: Array(5).fill('${secret:A}') },
    { type: '' },
    { type: 'a b' },
    { type: 'a..b' },
    { timestamp: 'yesterday' },
    { data: undefined },
  ])('has nothing else: %j', (change) => {
    expect(webhook(change)).toBe(false);
  });
});

describe.each([
  ['Discord', discord],
  ['Slack', slack],
])('the webhook of a message to %s', (_, accepts) => {
  test('a webhook URL is a secret reference with an origin', () => {
    expect(accepts({})).toBe(true);
    expect(accepts({ origin: 'https://chat.example:8443' })).toBe(true);
  });

  test.each([
    { webhook: 'https://discord.com/api/webhooks/1/token' },
    { webhook: 'https://discord.com/${secret:URL}' },
    { webhook: undefined },
    { origin: 'https://chat.example/' },
    { origin: 'https://Chat.example' },
    { origin: '${secret:URL}' },
    { origin: 'chat.example' },
  ])('is nothing else: %j', (change) => {
    expect(accepts(change)).toBe(false);
  });
});

describe('a message to Discord', () => {
  test.each([
    { content: 'x'.repeat(2_000) },
    {
      content: undefined,
      embeds: [{ title: 't', description: 'd', color: 0xff0000, url: 'https://x.example/' }],
    },
    { embeds: [{ fields: [{ name: 'n', value: 'v', inline: true }] }] },
  ])('is one that Discord takes', (change) => {
    expect(discord(change)).toBe(true);
  });

  test.each([
    { content: 'x'.repeat(2_001) },
    { content: '' },
    { content: undefined },
    { embeds: [] },
    { embeds: Array.from({ length: 11 }, () => ({ title: 't' })) },
    { embeds: Array.from({ length: 2 }, () => ({ description: 'x'.repeat(3_001) })) },
    { embeds: [{ fields: Array.from({ length: 26 }, () => ({ name: 'n', value: 'v' })) }] },
    { embeds: [{ color: 0x1000000 }] },
    { embeds: [{ url: 'javascript:alert(1)' }] },
  ])('is none that it would refuse', (change) => {
    expect(discord(change)).toBe(false);
  });
});

test('a message to Slack stays below the limit at which Slack cuts it', () => {
  expect(slack({ text: 'x'.repeat(4_000) })).toBe(true);
  expect(slack({ text: 'x'.repeat(4_001) })).toBe(false);
  expect(slack({ text: '' })).toBe(false);
});
