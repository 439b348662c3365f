/** The health of the services, as far as the gateway reports it. */
export type HealthView = {
  readonly services: readonly {
    readonly name: string;
    readonly up: boolean;
    readonly replicas: number | undefined;
    readonly latencyMs: number | undefined;
    readonly detail: string | undefined;
    readonly missing: readonly string[];
  }[];
  readonly streams: readonly {
    readonly name: string;
    readonly description: string | undefined;
    readonly messages: number | undefined;
    readonly bytes: number | undefined;
    readonly consumers: readonly Consumer[];
  }[];
};
export type Consumer = { readonly name: string; readonly pending: number; readonly unacknowledged: number };

type Bag = Readonly<Record<string, unknown>>;
const bagOf = (value: unknown): Bag => (typeof value === 'object' && value !== null ? (value as Bag) : {});
const listOf = (value: unknown): readonly Bag[] => (Array.isArray(value) ? value.map(bagOf) : []);
const numberIn = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
const textIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** A service may have several consumers of a stream. Their backlogs are one row. */
const backlogsOf = (consumers: readonly Bag[]): readonly Consumer[] => {
  const byName = new Map<string, Consumer>();
  for (const consumer of consumers) {
    const name = textIn(consumer['service']) ?? textIn(consumer['name']) ?? '?';
    const { pending, unacknowledged } = byName.get(name) ?? { pending: 0, unacknowledged: 0 };
    byName.set(name, {
      name,
      pending: pending + (numberIn(consumer['pending']) ?? 0),
      unacknowledged: unacknowledged + (numberIn(consumer['ackPending']) ?? 0),
    });
  }
  return [...byName.values()];
};

/** Parses leniently: this page must work with a broken system. */
export const healthOf = (value: unknown): HealthView => {
  const { services, streams } = bagOf(value);
  return {
    services: listOf(services).map(({ name, up, replicas, latencyMs, detail, missing }) => ({
      name: textIn(name) ?? '?',
      up: up === true,
      replicas: numberIn(replicas),
      latencyMs: numberIn(latencyMs),
      detail: textIn(detail),
      missing: textsIn(missing),
    })),
    streams: listOf(streams).map(({ name, description, messages, bytes, consumers }) => ({
      name: textIn(name) ?? '?',
      description: textIn(description),
      messages: numberIn(messages),
      bytes: numberIn(bytes),
      consumers: backlogsOf(listOf(consumers)),
    })),
  };
};

export type Letter = {
  readonly id: string;
  readonly service: string;
  readonly subject: string;
  readonly code: string;
  readonly reason: string;
  readonly body: string;
  readonly at: number | undefined;
};

export const lettersOf = (value: unknown): { readonly items: readonly Letter[]; readonly more: boolean } => {
  const { items, more } = bagOf(value);
  return {
    items: listOf(items).flatMap((item) => {
      const letter = bagOf(item['letter']);
      const reason = bagOf(letter['reason']);
      const id = textIn(item['id']);
      if (id === undefined) return [];
      return [
        {
          id,
          service: textIn(item['service']) ?? '?',
          subject: textIn(letter['subject']) ?? '?',
          code: textIn(reason['code']) ?? '?',
          reason: textIn(reason['message']) ?? '',
          body: textIn(letter['body']) ?? '',
          at: numberIn(letter['at']),
        },
      ];
    }),
    more: more === true,
  };
};
