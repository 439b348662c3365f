import type { Publisher, WireMessage } from '../engine/ports.ts';

type Subscription = { readonly filter: string; readonly deliver: (message: WireMessage) => void };

/** Whether a subject matches a filter with the wildcards of NATS. */
export const matches = (filter: string, subject: string): boolean => matcher(filter)(subject);

/** The same for many subjects: the filter is taken apart once. */
export const matcher = (filter: string): ((subject: string) => boolean) => {
  const wanted = filter.split('.');
  return (subject) => {
    const tokens = subject.split('.');
    for (const [i, token] of wanted.entries()) {
      if (token === '>') return tokens.length > i;
      if (tokens[i] === undefined || (token !== '*' && token !== tokens[i])) return false;
    }
    return wanted.length === tokens.length;
  };
};

/**
 * The bus in memory: publishes are confirmed, deliveries wait until `deliverNext` is called.
 * So a test or a simulator decides when, in which order and how often anything arrives.
 */
export const createMemoryBus = () => {
  const subscriptions: Subscription[] = [];
  const inFlight: { readonly message: WireMessage; readonly to: Subscription }[] = [];
  const published: WireMessage[] = [];

  const publisher: Publisher = {
    publish: (messages) => {
      published.push(...messages);
      for (const message of messages) {
        for (const to of subscriptions)
          if (matches(to.filter, message.subject)) inFlight.push({ message, to });
      }
      return Promise.resolve(true);
    },
  };

  return {
    publisher,
    published: published as readonly WireMessage[],
    subscribe: (filter: string, deliver: Subscription['deliver']): void =>
      void subscriptions.push({ filter, deliver }),
    waiting: (): number => inFlight.length,
    /** Delivers the message at `index` of those in flight; with `keep` it will be delivered again. */
    deliverNext: (index = 0, keep = false): boolean => {
      const [next] = keep ? inFlight.slice(index, index + 1) : inFlight.splice(index, 1);
      next?.to.deliver(next.message);
      return next !== undefined;
    },
    /** Drops everything in flight, as when the storage of the server was deleted. */
    wipe: (): void => void inFlight.splice(0),
  };
};
