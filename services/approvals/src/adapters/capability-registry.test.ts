import { CapabilityDefinition, type RegisteredCapability } from '@holdpoint/contracts/approval/capability';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import { capabilityIdOf, type NodeId, type TaskId } from '@holdpoint/contracts/values/ids';
import { describe, expect, test } from 'vitest';
import type { StoredCapability } from '../queries/capabilities.ts';
import { createCapabilityBook } from './capability-registry.ts';

const definition = CapabilityDefinition.parse({
  name: 'refund',
  title: 'Refund',
  input: { required: ['a'] },
});
const stored = (change: Partial<RegisteredCapability> = {}, version = 1): StoredCapability => ({
  version,
  view: { ...definition, status: 'registered', registeredBy: 'ada', registeredAt: 1, ...change },
});
const effect = (change: Partial<CanonicalEffect> = {}): CanonicalEffect => ({
  task: 't' as TaskId,
  node: 'n' as NodeId,
  uses: 'cap.remote.refund',
  args: { a: 1 },
  kind: 'write_external',
  effectClass: 'opaque',
  target: 'remote:refund',
  idempotencyKey: 'k',
  ...change,
});

/** A registry whose reads end by hand. */
const registry = () => {
  let table: readonly StoredCapability[] = [];
  let isAway = false;
  const reads: (() => void)[] = [];
  const failures: unknown[] = [];
  const book = createCapabilityBook(
    () =>
      new Promise((resolve, reject) => {
        const seen = table;
        reads.push(() => (isAway ? reject(new Error('away')) : resolve(seen)));
      }),
    (error) => failures.push(error),
  );
  const endRead = async (): Promise<void> => {
    reads.shift()?.();
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  };
  return {
    ...book,
    reads,
    failures,
    endRead,
    fill: (...rows: readonly StoredCapability[]) => void (table = rows),
    goAway: (away: boolean) => void (isAway = away),
  };
};

const refused = (code: string) => ({ refusal: expect.stringMatching(new RegExp(`^${code}`)) as string });

describe('the copy of the registry', () => {
  test('another effect needs no look at it', () => {
    const { admission, reads } = registry();
    expect(admission(effect({ uses: 'cap.file.append' }), 'm-1')).toBeUndefined();
    expect(reads).toHaveLength(0);
  });

  test('an unknown capability is refused only after a read that began after the request', async () => {
    const { admission, refresh, reads, endRead, fill } = registry();
    void refresh();
    fill(stored());
    expect(admission(effect(), 'm-1')).toBe('later');
    // This read saw the table before the registration.
    await endRead();
    expect(admission(effect(), 'm-1')).toBe('later');
    await endRead();
    expect(admission(effect(), 'm-1')).toMatchObject({ words: { title: 'Refund' } });
    while (reads.length > 0) await endRead();
    expect(admission(effect({ uses: 'cap.remote.mail' }), 'm-2')).toBe('later');
    await endRead();
    expect(admission(effect({ uses: 'cap.remote.mail' }), 'm-2')).toEqual(
      refused('APPROVALS_UNKNOWN_CAPABILITY'),
    );
  });

  test('arguments that fit only the newest definition are admitted after a read', async () => {
    const { admission, refresh, endRead, fill } = registry();
    fill(stored());
    void refresh();
    await endRead();
    fill(stored({ input: {} }, 2));
    expect(admission(effect({ args: {} }), 'm-1')).toBe('later');
    await endRead();
    expect(admission(effect({ args: {} }), 'm-1')).toHaveProperty('words');
  });

  test('a failed read refuses nothing', async () => {
    const { admission, endRead, goAway, failures, reads } = registry();
    goAway(true);
    expect(admission(effect(), 'm-1')).toBe('later');
    await endRead();
    expect(admission(effect(), 'm-1')).toBe('later');
    expect(failures).toHaveLength(1);
    goAway(false);
    while (reads.length > 0) await endRead();
    expect(admission(effect(), 'm-1')).toEqual(refused('APPROVALS_UNKNOWN_CAPABILITY'));
  });

  test('names are unknown only after a read that began after the question', async () => {
    const { knowsOneOf, refresh, endRead, fill, goAway, reads } = registry();
    void refresh();
    fill(stored());
    const known = knowsOneOf(['mail', 'refund']);
    // This read saw the table before the registration.
    await endRead();
    await endRead();
    expect(await known).toBe(true);
    expect(reads).toHaveLength(0);
    const unknown = knowsOneOf(['mail']);
    await endRead();
    expect(await unknown).toBe(false);
    goAway(true);
    const away = knowsOneOf(['mail']);
    await endRead();
    expect(await away).toBeUndefined();
  });

  test('a committed registration counts at once, and an older read does not undo it', async () => {
    const { admission, refresh, endRead, onCommitted } = registry();
    void refresh();
    onCommitted({
      version: 1,
      event: {
        type: 'capability_registered',
        id: capabilityIdOf('refund'),
        name: 'refund',
        definition,
        by: 'ada',
        at: 1,
      },
    });
    expect(admission(effect(), 'm-1')).toHaveProperty('words');
    await endRead();
    expect(admission(effect(), 'm-2')).toHaveProperty('words');
  });

  test('a committed withdrawal is refused after a read', async () => {
    const { admission, refresh, endRead, fill, onCommitted } = registry();
    fill(stored());
    void refresh();
    await endRead();
    const id = capabilityIdOf('refund');
    onCommitted({
      version: 2,
      event: { type: 'capability_withdrawn', id, name: 'refund', by: 'bob', at: 2 },
    });
    fill(stored({ status: 'withdrawn' }, 2));
    expect(admission(effect(), 'm-1')).toBe('later');
    await endRead();
    expect(admission(effect(), 'm-1')).toEqual(refused('APPROVALS_CAPABILITY_WITHDRAWN'));
  });
});
