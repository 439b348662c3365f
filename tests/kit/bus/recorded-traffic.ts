import { filters } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';

export type Recorded = { readonly subject: string; readonly body: string };

/** Every command and event from now on, as the user `monitor` with all rights can watch them. */
export const recordTraffic = async (
  connection: NatsConnection,
): Promise<{ readonly all: () => readonly Recorded[] }> => {
  const seen: Recorded[] = [];
  for (const filter of [
    filters.events,
    filters.peopleCommands,
    'hp.cmd.task.*',
    'hp.cmd.approval.request',
    'hp.cmd.approval.cancel',
    'hp.cmd.effect.*.*',
    'hp.cmd.recovery.*',
  ]) {
    connection.subscribe(filter, {
      callback: (_error, msg) => void seen.push({ subject: msg.subject, body: msg.string() }),
    });
  }
  await connection.flush();
  return { all: () => seen };
};
