import { connect, createServer, type Server, type Socket } from 'node:net';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { portOf } from '@holdpoint/infra/local/ports';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { untilTrue } from '../kit/until.ts';

/** Echoes every byte. */
let echo: Server;
let proxy: FaultProxy;
const opened: Socket[] = [];

beforeEach(async () => {
  echo = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
  proxy = await startFaultProxy('127.0.0.1', portOf(echo));
});
afterEach(async () => {
  for (const socket of opened.splice(0)) socket.destroy();
  await proxy.close();
  await new Promise((resolve) => echo.close(resolve));
});

type Talk = {
  readonly say: (text: string) => void;
  readonly heard: () => string;
  readonly broken: () => boolean;
};

const talk = (): Talk => {
  const socket = connect({ host: proxy.host, port: proxy.port });
  opened.push(socket);
  let heard = '';
  let broken = false;
  socket.on('data', (data) => (heard += data.toString()));
  socket.on('error', () => (broken = true));
  socket.on('close', () => (broken = true));
  return { say: (text) => void socket.write(text), heard: () => heard, broken: () => broken };
};

const untilHeard = (line: Talk, text: string) => untilTrue(`${text} is heard`, () => line.heard() === text);
const untilBroken = (line: Talk) => untilTrue('the connection is broken', line.broken);

test('sent bytes arrive in order under any delay', async () => {
  const line = talk();
  proxy.delay(150);
  const began = performance.now();
  line.say('one ');
  proxy.delay(0);
  line.say('two ');
  await untilHeard(line, 'one two ');
  expect(performance.now() - began).toBeGreaterThan(0);
});

test('a delayed answer arrives late', async () => {
  const line = talk();
  line.say('a');
  await untilHeard(line, 'a');
  proxy.delay(200);
  const began = performance.now();
  line.say('b');
  await untilHeard(line, 'ab');
  expect(performance.now() - began).toBeGreaterThan(350);
});

test.each([[['to_server']], [['to_client']], [['to_server', 'to_client']]] as const)(
  'a partition of %j holds traffic back until it ends',
  async (directions) => {
    const [line, witness] = [talk(), await startFaultProxy('127.0.0.1', portOf(echo))];
    line.say('before ');
    await untilHeard(line, 'before ');
    proxy.blackhole(directions);
    line.say('meanwhile ');
    // Another connection sends the same bytes in between.
    const other = connect({ host: witness.host, port: witness.port });
    opened.push(other);
    for (let i = 0; i < 20; i += 1) {
      other.write('x');
      await new Promise((resolve) => other.once('data', resolve));
    }
    expect(line.heard()).toBe('before ');
    proxy.heal();
    await untilHeard(line, 'before meanwhile ');
    await witness.close();
  },
);

test('a connection opened behind a partition gets no data before its end', async () => {
  proxy.blackhole(['to_server', 'to_client']);
  const line = talk();
  line.say('hello');
  proxy.heal();
  await untilHeard(line, 'hello');
});

test('refusing rejects new connections and keeps open ones', async () => {
  const line = talk();
  line.say('a');
  await untilHeard(line, 'a');
  proxy.refuse();
  await untilBroken(talk());
  line.say('b');
  await untilHeard(line, 'ab');
  proxy.heal();
  const later = talk();
  later.say('c');
  await untilHeard(later, 'c');
});

test('a reset breaks open connections', async () => {
  const line = talk();
  line.say('a');
  await untilHeard(line, 'a');
  proxy.reset();
  await untilBroken(line);
});

test('the n-th answer is lost with its connection, unless the fault ends first', async () => {
  const line = talk();
  const cut = proxy.cutOn('to_client', 'word', 2);
  line.say('word');
  await untilHeard(line, 'word');
  line.say('word');
  await cut;
  await untilBroken(line);
  expect(line.heard()).toBe('word');

  const next = talk();
  void proxy.cutOn('to_client', 'word');
  proxy.heal();
  next.say('word');
  await untilHeard(next, 'word');
});
