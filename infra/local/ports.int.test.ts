import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { choosePorts, isFree, portOf } from './ports.ts';

test('a port that is in use is replaced by a free one, and the others stay', async () => {
  const squatter = createServer();
  await new Promise<void>((resolve) => void squatter.listen(0, '127.0.0.1', resolve));
  const taken = portOf(squatter);
  const wish = await choosePorts();
  try {
    const ports = await choosePorts({ ...wish, nats: taken });
    expect(ports).toEqual({ ...wish, nats: ports.nats });
    expect(ports.nats).not.toBe(taken);
    expect(await isFree(ports.nats)).toBe(true);
  } finally {
    await new Promise((resolve) => squatter.close(resolve));
  }
});

test('random ports differ from one another', async () => {
  const ports = Object.values(await choosePorts());
  expect(new Set(ports).size).toBe(ports.length);
});
