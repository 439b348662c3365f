import { DeadLetterResolved, deadLetterPlace, StoredDeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import { SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import type { NatsConnection } from '@nats-io/transport-node';
import { readDeadLetters } from '../../kit/bus/dead-letters.ts';
import { OURS, type SeenLetter } from '../bus-recorder.ts';
import type { Operation } from '../history.ts';

/** A dead letter that an operator saw resolved, and the resolution that its service keeps. */
export type SettledLetter = {
  readonly key: string;
  readonly answers: readonly string[];
  readonly requests: readonly string[];
  readonly stated: readonly string[];
};

const word = ({ action, by }: Pick<DeadLetterResolved, 'action' | 'by'>): string => `${action} by ${by}`;

const letterOf = async (connection: NatsConnection, id: string): Promise<StoredDeadLetter> => {
  const { service = 'orchestrator' } = deadLetterPlace(id) ?? {};
  const answer = await connection.request(subjects.api(service, 'dead_letter_get'), JSON.stringify({ id }), {
    timeout: 5_000,
  });
  return StoredDeadLetter.parse(answer.json());
};

/** The dead letters that operators saw resolved. */
export const gatherLetters = async (
  connection: NatsConnection,
  operations: readonly Operation[],
): Promise<readonly SettledLetter[]> => {
  const byLetter = Map.groupBy(
    operations.filter(({ op }) => op.startsWith('dlq.')),
    ({ key }) => key,
  );
  const found: SettledLetter[] = [];
  for (const [key, ofIt] of byLetter) {
    const answers = ofIt
      .filter(({ type }) => type === 'ok')
      .map(({ value }) => word(DeadLetterResolved.parse(value)));
    if (answers.length === 0) continue;
    const { resolution } = await letterOf(connection, key);
    const requests = ofIt
      .filter(({ type }) => type === 'invoke')
      .map(({ op, actor }) => `${op.slice('dlq.'.length)} by ${actor}`);
    found.push({ key, answers: answers, requests: requests, stated: resolution ? [word(resolution)] : [] });
  }
  return found;
};

/** The unresolved dead letters of all services. */
export const gatherUnresolved = async (connection: NatsConnection): Promise<readonly SeenLetter[]> => {
  const all = await Promise.all(SERVICES.map((service) => readDeadLetters(connection, service)));
  return all.flat().map(({ service, letter }) => {
    const { headers } = letter;
    const ours = (headers[HEADERS.messageId] ?? headers[HEADERS.id] ?? '').startsWith(OURS);
    return { service, ours, letter };
  });
};
