import { ProgramEvent } from '@holdpoint/contracts/program/events';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { TaskNews, WorkPort } from '../activation/session/port.ts';
import { artifactsOver } from './artifacts.ts';
import { type AskService, askOver } from './ask-service.ts';

/** Shorter than a heartbeat, so that a lost request is repeated in time. */
const SAY_TIMEOUT_MS = 3_000;

const Informed = ProgramEvent.options.find((option) => option.shape.type.value === 'phase_entry_completed');

const newsIn = (event: 'phase_entry_completed' | 'cancelled', msg: Msg): TaskNews | undefined => {
  const body: unknown = msg.json();
  if (event === 'cancelled') {
    const reason = typeof body === 'object' && body !== null && 'reason' in body ? body.reason : undefined;
    return { kind: 'cancelled', reason: typeof reason === 'string' ? reason : 'unknown reason' };
  }
  const parsed = Informed?.safeParse(body);
  return parsed?.success === true && parsed.data.type === 'phase_entry_completed'
    ? { kind: 'informed', key: parsed.data.key }
    : undefined;
};

/** Connects a phase to the services over NATS. */
export const busPort = (connection: NatsConnection, ask: AskService = askOver(connection)): WorkPort => ({
  say: (said) => ask('orchestrator', 'work', said, { timeoutMs: SAY_TIMEOUT_MS }),
  ...artifactsOver(ask),
  listen: (task, hear) => {
    const heard = (['phase_entry_completed', 'cancelled'] as const).map((event) =>
      connection.subscribe(subjects.event('task', event, task), {
        callback: (error, msg) => {
          if (error !== null) return;
          try {
            const news = newsIn(event, msg);
            if (news !== undefined) hear(news);
          } catch {
            // An unreadable message; the regular poll returns the same news.
          }
        },
      }),
    );
    return () => {
      for (const subscription of heard) subscription.unsubscribe();
    };
  },
});
