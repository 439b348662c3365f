import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { WireMessage } from '../engine/ports.ts';
import { createNatsPublisher } from './publisher.ts';

const encodedOf = (headers: MsgHdrs): Uint8Array =>
  (headers as unknown as { readonly encode: () => Uint8Array }).encode();

type Reply = { readonly text?: string; readonly hasError?: boolean; readonly error?: Error };

/** A connection that keeps what is published, and brings the answers that it is given. */
const connecting = () => {
  const sent: { readonly subject: string; readonly reply: string; readonly id: string }[] = [];
  const state: { hear: (error: Error | null, msg: Msg) => void; closed: boolean } = {
    hear: () => undefined,
    closed: false,
  };
  const connection = {
    subscribe: (_subject: string, { callback }: { callback: typeof state.hear }) => {
      state.hear = callback;
    },
    publish: (subject: string, _body: string, { reply, headers }: { reply: string; headers: MsgHdrs }) => {
      if (state.closed) throw new Error('closed');
      const id = /Nats-Msg-Id: (.*)\r/.exec(new TextDecoder().decode(encodedOf(headers)))?.[1] ?? '';
      sent.push({ subject, reply, id });
    },
  };
  const publisher = createNatsPublisher(connection as unknown as NatsConnection, '_INBOX_test');
  const answer = (index: number, { text = '', hasError = false, error }: Reply): void => {
    const msg = {
      subject: sent[index]?.reply ?? '',
      data: new TextEncoder().encode(text),
      headers: hasError ? { hasError } : undefined,
      json: (): unknown => JSON.parse(text),
    };
    state.hear(error ?? null, msg as unknown as Msg);
  };
  return {
    publisher,
    sent,
    answer,
    close: (): void => {
      state.closed = true;
    },
  };
};

const message = (name: string): WireMessage => ({
  subject: `hp.evt.task.${name}`,
  headers: [
    ['Nats-Msg-Id', `id-${name}`],
    ['ce-id', `id-${name}`],
  ],
  body: '{}',
});
const STORED: Reply = { text: '{"stream":"HP_EVT","seq":7}' };
const DUPLICATE: Reply = { text: '{"stream":"HP_EVT","seq":7,"duplicate":true}' };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** What a publish has come to, without waiting for one that goes on. */
const watched = (publishing: Promise<boolean>): { fate: boolean | 'under way' } => {
  const seen: { fate: boolean | 'under way' } = { fate: 'under way' };
  void publishing.then((all) => (seen.fate = all));
  return seen;
};
const settle = () => vi.advanceTimersByTimeAsync(0);

describe('a batch is confirmed', () => {
  test('a batch is confirmed once all its messages are stored, in any order of the answers', async () => {
    const { publisher, answer, sent } = connecting();
    const seen = watched(publisher.publish([message('a'), message('b')]));
    expect(sent.map(({ subject }) => subject)).toEqual(['hp.evt.task.a', 'hp.evt.task.b']);
    answer(1, STORED);
    await settle();
    expect(seen.fate).toBe('under way');
    answer(0, STORED);
    await settle();
    expect(seen.fate).toBe(true);
  });

  test('a batch is confirmed only by its own answers', async () => {
    const { publisher, answer } = connecting();
    const one = watched(publisher.publish([message('a')]));
    const other = watched(publisher.publish([message('b')]));
    answer(1, STORED);
    await settle();
    expect([one.fate, other.fate]).toEqual(['under way', true]);
  });

  test('a message whose id was taken goes out again under another id, and its batch waits for it', async () => {
    const { publisher, answer, sent } = connecting();
    const seen = watched(publisher.publish([message('a'), message('b')]));
    answer(0, DUPLICATE);
    answer(1, STORED);
    await settle();
    expect(seen.fate).toBe('under way');
    expect(sent.map(({ subject }) => subject)).toEqual(['hp.evt.task.a', 'hp.evt.task.b', 'hp.evt.task.a']);
    expect(sent[2]?.id).toMatch(/^id-a\.[0-9a-f-]{8,}$/);
    answer(2, STORED);
    await settle();
    expect(seen.fate).toBe(true);
  });

  test('a message whose id is taken once more gets a third id', async () => {
    const { publisher, answer, sent } = connecting();
    const seen = watched(publisher.publish([message('a')]));
    answer(0, DUPLICATE);
    answer(1, DUPLICATE);
    answer(2, STORED);
    await settle();
    expect(new Set(sent.map(({ id }) => id)).size).toBe(3);
    expect(seen.fate).toBe(true);
  });
});

describe('a batch is not confirmed', () => {
  test.each<readonly [string, Reply]>([
    ['nobody stores it', { hasError: true }],
    ['the answer is empty', {}],
    ['the stream refuses it', { text: '{"error":{"code":503,"err_code":10077},"stream":"HP_EVT","seq":0}' }],
    ['the answer has no sequence', { text: '{"stream":"HP_EVT"}' }],
    ['the answer cannot be had', { ...STORED, error: new Error('permission') }],
  ])('a batch is not confirmed if %s, even when the others are stored', async (_, reply) => {
    const { publisher, answer } = connecting();
    const seen = watched(publisher.publish([message('a'), message('b')]));
    answer(0, reply);
    answer(1, STORED);
    await settle();
    expect(seen.fate).toBe(false);
  });

  test('a batch is not confirmed if an answer is late', async () => {
    const { publisher, answer } = connecting();
    const seen = watched(publisher.publish([message('a'), message('b')]));
    answer(0, STORED);
    await vi.advanceTimersByTimeAsync(2_999);
    expect(seen.fate).toBe('under way');
    await vi.advanceTimersByTimeAsync(1);
    expect(seen.fate).toBe(false);
    // Too late: the sweeper publishes it again.
    answer(1, STORED);
    await settle();
    expect(seen.fate).toBe(false);
  });

  test('a batch is not confirmed if the repeat of a taken id is not stored', async () => {
    const { publisher, answer } = connecting();
    const seen = watched(publisher.publish([message('a')]));
    answer(0, DUPLICATE);
    answer(1, { hasError: true });
    await settle();
    expect(seen.fate).toBe(false);
  });

  test('a batch is not confirmed if the connection is closed', async () => {
    const { publisher, close } = connecting();
    close();
    expect(await publisher.publish([message('a')])).toBe(false);
  });
});
