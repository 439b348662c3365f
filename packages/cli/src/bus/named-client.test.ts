import { describe, expect, test } from 'vitest';
import type { Client } from './client.ts';
import { hintingClient, namedClient } from './named-client.ts';

const asked = async (
  user: string | undefined,
  ...request: readonly [service: string, endpoint: string, payload: object]
): Promise<unknown> => {
  const sent: unknown[] = [];
  const client = {
    call: (_service: string, _endpoint: string, payload: object) => Promise.resolve(sent.push(payload)),
  } as unknown as Client;
  const named = namedClient(client, user) as unknown as {
    call: (...words: typeof request) => Promise<unknown>;
  };
  await named.call(...request);
  return sent[0];
};

test.each([
  ['orchestrator', 'submit', { workflow: 'sample', goal: 'x' }, { requestedBy: 'ada' }],
  ['orchestrator', 'cancel', { id: 't-1' }, { by: 'ada' }],
  ['orchestrator', 'retry', { id: 't-1', node: 'a' }, { by: 'ada' }],
])('%s %s carries the user name', async (service, endpoint, payload, name) => {
  expect(await asked('ada', service, endpoint, payload)).toEqual({ ...payload, ...name });
});

test('an explicit name is kept', async () => {
  expect(await asked('ada', 'orchestrator', 'cancel', { id: 't-1', by: 'grace' })).toEqual({
    id: 't-1',
    by: 'grace',
  });
});

test.each([
  ['a question', 'ada', 'orchestrator', 'get'],
  ['a decision, which goes by its token', 'ada', 'approvals', 'decide'],
  ['a circuit, which goes by its token', 'ada', 'recovery', 'circuit'],
  ['where unknown because who it is', undefined, 'orchestrator', 'cancel'],
] as const)('%s is sent unchanged', async (_, user, service, endpoint) => {
  expect(await asked(user, service, endpoint, { id: 't-1' })).toEqual({ id: 't-1' });
});

describe('the hint about a missing token', () => {
  const submitted = async (canDecide: boolean | undefined): Promise<readonly string[]> => {
    const lines: string[] = [];
    const client = hintingClient(
      {
        call: () => Promise.resolve({}),
        ...(canDecide !== undefined && { canDecide }),
      } as unknown as Client,
      (line) => void lines.push(line),
    );
    await client.call('orchestrator', 'list', {});
    await client.call('orchestrator', 'submit', { workflow: 'w', goal: 'g' });
    await client.call('orchestrator', 'submit', { workflow: 'w', goal: 'g' });
    return lines;
  };

  test('a submission without a token gives one hint', async () => {
    const lines = await submitted(false);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('HOLDPOINT_TOKEN');
  });

  test('a submission with a token gives none', async () => {
    expect(await submitted(true)).toEqual([]);
    expect(await submitted(undefined)).toEqual([]);
  });
});
