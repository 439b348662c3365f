import { errors } from '@nats-io/transport-node';
import { describe, expect, test } from 'vitest';
import { sendInTries, sumOf, triesFor } from './tries.ts';

const WHOLE_MS = 30_000;

describe('a request', () => {
  test.each([
    ['approvals', 'identify', {}],
    ['approvals', 'whoami', {}],
    ['orchestrator', 'get', {}],
    ['executor', 'info', {}],
    ['orchestrator', 'submit', { requestId: 'r-1' }],
  ] as const)('%s.%s is tried again, in the time of one long try', (service, endpoint, options) => {
    const tries = triesFor(service, endpoint, options);
    expect(tries.length).toBeGreaterThan(1);
    expect(sumOf(tries)).toBe(WHOLE_MS);
  });

  test.each([
    ['approvals', 'decide'],
    ['approvals', 'token_create'],
    ['orchestrator', 'submit'],
    ['orchestrator', 'cancel'],
    ['recovery', 'classify'],
  ] as const)('%s.%s without an ID is sent once', (service, endpoint) => {
    expect(triesFor(service, endpoint, {})).toEqual([WHOLE_MS]);
  });

  test('with a time limit of its own is sent once', () => {
    expect(triesFor('orchestrator', 'get', { timeoutMs: 200 })).toEqual([200]);
  });
});

describe('tries', () => {
  const silence = () => new errors.TimeoutError();
  const answers = (...each: readonly unknown[]) => {
    const sent: number[] = [];
    const send = (timeoutMs: number): Promise<unknown> => {
      const answer = each[sent.length];
      sent.push(timeoutMs);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    };
    return { sent, send };
  };

  test('end with the first answer', async () => {
    const { sent, send } = answers(silence(), 'an answer', 'a second answer');
    expect(await sendInTries([1, 2, 3], send)).toBe('an answer');
    expect(sent).toEqual([1, 2]);
  });

  test('end with the last silence', async () => {
    const { sent, send } = answers(silence(), new errors.RequestError('', { cause: silence() }));
    await expect(sendInTries([1, 2], send)).rejects.toBeInstanceOf(errors.RequestError);
    expect(sent).toEqual([1, 2]);
  });

  test('end with an error that is no silence', async () => {
    const { sent, send } = answers(new errors.NoRespondersError('hp'), 'an answer');
    await expect(sendInTries([1, 2], send)).rejects.toBeInstanceOf(errors.NoRespondersError);
    expect(sent).toEqual([1]);
  });

  test('report the silence before a later error, because the request may have taken effect', async () => {
    const { send } = answers(silence(), new errors.NoRespondersError('hp'), 'an answer');
    await expect(sendInTries([1, 2, 3], send)).rejects.toBeInstanceOf(errors.TimeoutError);
  });
});
