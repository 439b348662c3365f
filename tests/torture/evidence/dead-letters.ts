import { DeadLetter, DeadLetterResolved } from '@holdpoint/contracts/bus/dead-letter';
import { filters } from '@holdpoint/contracts/bus/subjects';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Operation } from '../history.ts';
import { letterKey } from '../pages/dead-letter-operator.ts';

/** A dead letter that an operator saw resolved, and its resolutions in the stream. */
export type SettledLetter = {
  readonly key: string;
  readonly answers: readonly string[];
  readonly requests: readonly string[];
  readonly stated: readonly string[];
};

const STREAM = 'HP_DLQ';

const word = ({ action, by }: Pick<DeadLetterResolved, 'action' | 'by'>): string => `${action} by ${by}`;

/** Only those that the stream still has. */
export const gatherLetters = async (
  connection: NatsConnection,
  operations: readonly Operation[],
): Promise<readonly SettledLetter[]> => {
  const { direct } = await jetstreamManager(connection, { checkAPI: false });
  const statements = new Map<number, DeadLetterResolved[]>();
  for (let from = 1; ;) {
    const stored = await direct.getMessage(STREAM, { seq: from, next_by_subj: filters.resolvedDeadLetters });
    if (stored === null) break;
    const settled = DeadLetterResolved.parse(stored.json());
    const before = statements.get(settled.sequence) ?? [];
    // A resolution may be stored twice when its sender missed the confirmation for minutes.
    if (!before.some(({ by, at }) => by === settled.by && at === settled.at))
      statements.set(settled.sequence, [...before, settled]);
    from = stored.seq + 1;
  }
  const byLetter = Map.groupBy(
    operations.filter(({ op }) => op.startsWith('dlq.')),
    ({ key }) => key,
  );
  const found: SettledLetter[] = [];
  for (const [key, ofIt] of byLetter) {
    const told = ofIt
      .filter(({ type }) => type === 'ok')
      .map(({ value }) => word(DeadLetterResolved.parse(value)));
    const sequence = Number(key.split(' ')[0]);
    const stored = told.length === 0 ? null : await direct.getMessage(STREAM, { seq: sequence });
    const letter = stored === null ? undefined : DeadLetter.safeParse(stored.json()).data;
    if (letter === undefined || letterKey(sequence, letter) !== key) continue;
    const asked = ofIt
      .filter(({ type }) => type === 'invoke')
      .map(({ op, actor }) => `${op.slice('dlq.'.length)} by ${actor}`);
    found.push({ key, answers: told, requests: asked, stated: (statements.get(sequence) ?? []).map(word) });
  }
  return found;
};
