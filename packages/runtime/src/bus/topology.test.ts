import { consumers, streams } from '@holdpoint/contracts/bus/streams';
import { JetStreamApiError, type JetStreamManager } from '@nats-io/jetstream';
import { expect, test } from 'vitest';
import { updateTopology } from './topology.ts';

/** A bus that lacks one consumer for the first `misses` updates of it. */
const given = (missing: string, misses: number, status = 404) => {
  const updated: string[] = [];
  let left = misses;
  const update = (name: string): Promise<object> => {
    if (name === missing && left > 0) {
      left -= 1;
      return Promise.reject(
        new JetStreamApiError({ code: status, err_code: 10_014, description: 'consumer not found' }),
      );
    }
    updated.push(name);
    return Promise.resolve({});
  };
  const manager = {
    streams: { update },
    consumers: { update: (_stream: string, name: string) => update(name) },
  } as unknown as JetStreamManager;
  return { manager, updated };
};

const names = [...streams, ...consumers].map(({ name }) => name);
const first = 'orchestrator';

test('the bus declares the consumer of these tests', () => {
  expect(names).toContain(first);
});

test('a consumer that another replica recreates during the update is updated afterwards', async () => {
  const { manager, updated } = given(first, 2);
  await updateTopology(manager);
  expect(updated.toSorted()).toEqual(names.toSorted());
});

test('a consumer that stays missing is left to the next look, and the others are updated', async () => {
  const { manager, updated } = given(first, Infinity);
  await updateTopology(manager);
  expect(updated).toEqual(names.filter((name) => name !== first));
});

test('an update that the bus refuses is an error', async () => {
  const { manager } = given(first, 1, 500);
  await expect(updateTopology(manager)).rejects.toThrow('consumer not found');
});
