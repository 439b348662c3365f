import { type DeadLetter, DeadLetterPage, type StoredDeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import { type ServiceName, SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import { errors, type NatsConnection } from '@nats-io/transport-node';
import { until } from '../until.ts';

export type SeenLetter = DeadLetter & { readonly service: string };

export type DeadLetters = {
  readonly all: () => Promise<readonly SeenLetter[]>;
  /** The dead letters of a message, by its `ce-id`. */
  readonly of: (id: string) => Promise<readonly SeenLetter[]>;
  /** Waits for the dead letter of a message; for that of one service when several read it. */
  readonly next: (id: string, service?: string) => Promise<SeenLetter>;
};

const PAGE = 100;

/** The unresolved dead letters of a service; none of a service that does not run. */
export const readDeadLetters = async (
  connection: NatsConnection,
  service: ServiceName,
): Promise<readonly StoredDeadLetter[]> => {
  const found: StoredDeadLetter[] = [];
  for (let before: string | undefined; ;) {
    const payload = JSON.stringify({ limit: PAGE, before });
    const answer = await connection
      .request(subjects.api(service, 'dead_letter_list'), payload, { timeout: 5_000 })
      .catch((error: unknown) => {
        if (error instanceof errors.RequestError && error.isNoResponders()) return undefined;
        throw error;
      });
    if (answer === undefined) return found;
    const page = DeadLetterPage.parse(answer.json());
    found.push(...page.items);
    if (page.next === undefined) return found;
    before = page.next;
  }
};

/** Every unresolved dead letter, as operators see it. */
export const watchDeadLetters = (connection: NatsConnection): DeadLetters => {
  const all = async (): Promise<readonly SeenLetter[]> => {
    const found = await Promise.all(SERVICES.map((service) => readDeadLetters(connection, service)));
    return found.flat().map(({ service, letter }) => ({ ...letter, service }));
  };
  const of = async (id: string): Promise<readonly SeenLetter[]> =>
    (await all()).filter(({ headers }) => headers['ce-id'] === id);
  return {
    all,
    of,
    next: (id, service) =>
      until(`${id} is among the dead letters`, async () =>
        (await of(id)).find((letter) => service === undefined || letter.service === service),
      ),
  };
};
