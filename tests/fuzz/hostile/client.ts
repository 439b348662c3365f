import { readAnswer, encodeRequest } from '@holdpoint/contracts/catalog/reply';
import type { Client } from '@holdpoint/cli/bus/client';
import { logSource } from '@holdpoint/cli/bus/logs';
import { watchSubjects } from '@holdpoint/cli/bus/watch';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { NoRespondersError } from '@nats-io/transport-node';
import { type Bytes, bytesOf, type Text, textOf } from '../text.ts';
import { type ReplyInput, replyOf } from './replies.ts';

/** Everything that a client may receive. */
export type Others = {
  /** By endpoint: the replies. On a repeated call the service has forgotten the first. */
  readonly replies: Readonly<Record<string, ReplyInput>>;
  readonly facts: readonly { readonly version: Text; readonly time: Text; readonly body: Bytes }[];
};

type Callback = (error: Error | null, msg: unknown) => void;

const factMessage = ({ version, time, body }: Others['facts'][number]): unknown => {
  const text = new TextDecoder().decode(bytesOf(body));
  const values: Readonly<Record<string, string>> = { 'ce-version': textOf(version), 'ce-time': textOf(time) };
  return {
    subject: subjects.event('task', 'completed', 't-1'),
    headers: { get: (name: string) => values[name] ?? '' },
    json: () => JSON.parse(text) as unknown,
  };
};

/** A client whose peers are hostile. The real code reads their answers. */
export const clientAmong = ({ replies, facts }: Others): Client => {
  const counts = new Map<string, number>();
  const listeners: Callback[] = [];
  const connection = {
    options: { inboxPrefix: '_INBOX_operator' },
    subscribe: (_: string, { callback }: { callback: Callback }) => {
      listeners.push(callback);
      return { drain: () => Promise.resolve() };
    },
    flush: () => Promise.resolve(),
    // A bus without streams: what clients read from them is written by services.
    request: (subject: string) => Promise.reject(new NoRespondersError(subject)),
  } as unknown as Client['connection'];

  /** After all hostile messages a real event arrives. */
  const tellFacts = (): void => {
    const real = { version: '', time: '', body: ['{}'] };
    for (const callback of listeners) for (const fact of [...facts, real]) callback(null, factMessage(fact));
  };

  const call: Client['call'] = (service, endpoint, payload) => {
    encodeRequest(payload);
    const name = `${service}.${endpoint}`;
    const times = counts.get(name) ?? 0;
    counts.set(name, times + 1);
    const reply = replies[name];
    if (reply === undefined || times > 0)
      return Promise.reject(new HoldpointError('ORCHESTRATOR_UNKNOWN_TASK', 'not any more'));
    queueMicrotask(tellFacts);
    return Promise.resolve().then(() => readAnswer(service, endpoint, replyOf(reply)));
  };
  return {
    connection,
    call,
    watch: (filter, onMessage) => watchSubjects(connection, filter, onMessage),
    logs: (task, node) => logSource(connection, task, node),
    close: () => Promise.resolve(),
  };
};
