import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { BEARER_PROTOCOL, WATCH_PROTOCOL } from '@holdpoint/contracts/approval/watch';
import type { Refusal } from '../http/refusal.ts';

const CREDENTIALS_MAX = 8_192;

/** What the caller has shown by a subprotocol, as the header would have it. */
export const bearerOf = ({ headers }: IncomingMessage): string | undefined => {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim());
  const token = offered.find((each) => each.startsWith(BEARER_PROTOCOL))?.slice(BEARER_PROTOCOL.length);
  return token === undefined || token.length > CREDENTIALS_MAX ? undefined : `Bearer ${token}`;
};

/** The one that is spoken. Never the one with the token: what is chosen is sent back. */
export const chooseProtocol = (offered: ReadonlySet<string>): string | false =>
  offered.has(WATCH_PROTOCOL) && WATCH_PROTOCOL;

export const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] ?? '';

/** Answers instead of taking the connection over, and ends it. */
export const refuse = (socket: Duplex, { status, body, headers }: Refusal): void => {
  const text = JSON.stringify(body);
  const head = {
    ...headers,
    connection: 'close',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}`);
  socket.once('finish', () => socket.destroy());
  socket.end([`HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? ''}`, ...lines, '', text].join('\r\n'));
};
