import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { portOf } from '../ports.ts';
import { ask } from './ask.ts';

test('an answer has its status and its whole body, however the service writes it', async () => {
  const server = createServer((request, response) => {
    response.writeHead(request.headers.authorization === 'Bearer t' ? 200 : 401);
    for (const part of ['{"status":', '"pending"', '}']) response.write(part);
    response.end();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${portOf(server)}/api`;
  expect(await ask(url)).toEqual({ status: 401, body: '{"status":"pending"}' });
  expect(await ask(url, { authorization: 'Bearer t' })).toEqual({
    status: 200,
    body: '{"status":"pending"}',
  });
});

test('a service that is not there is an error', async () => {
  await expect(ask('http://127.0.0.1:1/readyz')).rejects.toThrow('ECONNREFUSED');
});
