import { setFlagsFromString } from 'node:v8';
import { setTimeout as delay } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { PhaseAborted } from './abort.ts';
import { createLifetime } from './lifetime.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

test('an abandoned phase releases its memory', async () => {
  const phase = async (life: ReturnType<typeof createLifetime>, held: object): Promise<void> => {
    await life.during(() => Promise.resolve());
    expect(held).toBeDefined();
  };
  const abandoned = (): WeakRef<object> => {
    const held = { large: new Uint8Array(1_000) };
    const life = createLifetime();
    life.abandon();
    void phase(life, held);
    return new WeakRef(held);
  };
  const reference = abandoned();
  for (let i = 0; i < 20 && reference.deref() !== undefined; i += 1) {
    await delay(5);
    collect();
  }
  expect(reference.deref()).toBeUndefined();
});

test('an abort rejects pending work with its reason', async () => {
  const life = createLifetime();
  const waiting = life.during(() => new Promise(() => undefined));
  life.abort(new PhaseAborted('cancelled', 'enough'));
  await expect(waiting).rejects.toThrow('enough');
  expect(life.signal.aborted).toBe(true);
});
