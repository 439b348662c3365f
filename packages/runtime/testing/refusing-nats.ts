import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

const INFO = JSON.stringify({ server_id: 'old', version: '2.2.0', max_payload: 2_097_152, headers: true });

/** A server that answers its first `times` logins with `refusal`. It is too old for a service. */
export const startRefusingNats = async (refusal: string, times: number) => {
  const sockets: Socket[] = [];
  let breaks = false;
  const server = createServer((socket) => {
    sockets.push(socket);
    const refuses = sockets.length <= times;
    socket.on('error', () => undefined);
    socket.write(`INFO ${INFO}\r\n`);
    socket.on('data', (data) => {
      if (refuses) socket.end(`-ERR '${refusal}'\r\n`);
      else if (breaks) socket.destroy();
      else if (data.includes('PING')) socket.write('PONG\r\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `nats://127.0.0.1:${String(address.port)}`,
    connections: () => sockets.length,
    breakAtNextPing: () => void (breaks = true),
  };
};
