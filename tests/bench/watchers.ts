import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { Client } from '@holdpoint/cli/bus/client';
import { WATCH_PATH } from '@holdpoint/contracts/approval/watch';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { requestOf } from '../kit/surfaces/requests.ts';
import { connectOrchestrator } from './orchestrator.ts';
import { type Percentiles, percentiles, round } from './report/percentiles.ts';

/** Fewer than the limit for one user. */
const PER_PERSON = 40;
const CONNECT_AT_ONCE = 50;
/** Between two requests, so that their notices do not overlap. */
const PAUSE_MS = 500;

export type WatcherMeasurement = {
  readonly measurement: 'watchers';
  readonly watchers: number;
  readonly requests: number;
  /** From the request or the decision to the notice, for every watcher. */
  readonly requestToNoticeMs: Percentiles & { readonly most: number };
  readonly decisionToNoticeMs: Percentiles & { readonly most: number };
  /** From the request or the decision to the last notice. */
  readonly untilAllNoticesMs: Percentiles;
};

const withMost = (durations: readonly number[]): Percentiles & { readonly most: number } => ({
  ...percentiles(durations),
  most: round(
    durations.reduce((most, each) => Math.max(most, each), 0),
    1,
  ),
});

/** Creates a token for a watcher. */
const tokenOf = async (client: Client, run: string, number: number): Promise<string> => {
  const secret = `hpt_${run}_${crypto.randomUUID()}`;
  await client.call('approvals', 'token_create', {
    name: 'bench',
    sha256: createHash('sha256').update(secret).digest('hex'),
    principal: `watcher-${run}-${String(number)}`,
    groups: ['operators'],
    scopes: ['approvals:read', 'approvals:decide'],
  });
  return secret;
};

const connectOne = async (port: number, token: string, hear: (text: string) => void): Promise<WebSocket> => {
  const socket = new WebSocket(`ws://127.0.0.1:${String(port)}${WATCH_PATH}`, {
    headers: { authorization: `Bearer ${token}` },
    perMessageDeflate: false,
  });
  const subscribed = new Promise<void>((resolve) => {
    socket.on('message', (data: Buffer) => {
      const text = data.toString();
      if (text.startsWith('{"type":"hello"')) socket.send('{"type":"subscribe"}');
      else if (text.startsWith('{"type":"subscribed"')) resolve();
      else hear(text);
    });
  });
  await Promise.race([
    subscribed,
    once(socket, 'close').then(() => {
      throw new Error('a watcher was not taken');
    }),
  ]);
  return socket;
};

/** Publishes and decides requests one by one while watchers listen. */
export const measureWatchers = async (
  client: Client,
  where: { readonly natsUrl: string; readonly credentialsDir: string; readonly httpPort: number },
  { run, watchers, requests }: { readonly run: string; readonly watchers: number; readonly requests: number },
): Promise<WatcherMeasurement> => {
  const tokens = await Promise.all(
    Array.from({ length: Math.ceil(watchers / PER_PERSON) }, (_, i) => tokenOf(client, run, i)),
  );
  let hear: (text: string) => void = () => undefined;
  const sockets: WebSocket[] = [];
  for (let from = 0; from < watchers; from += CONNECT_AT_ONCE) {
    const more = Array.from({ length: Math.min(CONNECT_AT_ONCE, watchers - from) }, (_, i) =>
      connectOne(where.httpPort, tokens[Math.floor((from + i) / PER_PERSON)] ?? '', (text) => hear(text)),
    );
    sockets.push(...(await Promise.all(more)));
  }
  const { natsUrl: url, credentialsDir } = where;
  const bus = await connectOrchestrator(url, credentialsDir);

  /** Milliseconds until each watcher has a message of this type about the approval. */
  const notified = async (
    type: string,
    id: string,
    act: () => Promise<unknown>,
  ): Promise<readonly number[]> => {
    const durations: number[] = [];
    const began = performance.now();
    const everybody = new Promise<void>((resolve) => {
      hear = (text) => {
        if (!text.startsWith(`{"type":"${type}"`) || !text.includes(`"${id}"`)) return;
        durations.push(performance.now() - began);
        if (durations.length === watchers) resolve();
      };
    });
    await act();
    await everybody;
    return durations;
  };

  const [requested, resolved]: [(readonly number[])[], (readonly number[])[]] = [[], []];
  for (let i = 0; i < requests; i += 1) {
    const request = requestOf();
    const { id, digest } = request;
    requested.push(
      await notified('approval.requested', id, () => {
        bus.publish(subjects.approvalCommand('request'), request);
        return bus.flush();
      }),
    );
    await delay(PAUSE_MS);
    resolved.push(
      await notified('approval.resolved', id, () =>
        client.call('approvals', 'decide', { id, digest, decision: 'reject' }, { timeoutMs: 30_000 }),
      ),
    );
    await delay(PAUSE_MS);
  }
  for (const socket of sockets) socket.terminate();
  await bus.close();
  return {
    measurement: 'watchers',
    watchers,
    requests,
    requestToNoticeMs: withMost(requested.flat()),
    decisionToNoticeMs: withMost(resolved.flat()),
    untilAllNoticesMs: percentiles([...requested, ...resolved].map((each) => each.at(-1) ?? Number.NaN)),
  };
};
