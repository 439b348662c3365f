import { expect, test, vi } from 'vitest';
import { runSession } from './session.ts';
import type { RunningStack } from './stack.ts';

const lost = (code: string): Error => Object.assign(new Error(`write ${code}`), { code });

test.each(['EPIPE', 'EIO'])('the stack stops in order when its output is lost: %s', async (code) => {
  const stop = vi.fn<() => Promise<void>>(() => Promise.resolve());
  const stack = { start: () => Promise.resolve({} as RunningStack), stop };
  const work = (): Promise<number> => {
    for (const stream of [process.stdout, process.stderr]) stream.emit('error', lost(code));
    return Promise.resolve(7);
  };
  expect(await runSession(stack, { work, interruptedCode: 130, alreadyRunning: () => 2 })).toBe(7);
  expect(stop).toHaveBeenCalledOnce();
});
