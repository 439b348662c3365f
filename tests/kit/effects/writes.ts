import type {
  BatchWrite,
  Head,
  StoredEvent,
  Store,
  TimerRow,
  WireMessage,
} from '@holdpoint/runtime/engine/ports';

/** The heads that go with events, with a summary of its own where one is given. */
export const headsOf = (events: readonly StoredEvent[], text?: string): readonly Head[] => {
  const versions = new Map(events.map(({ aggregate, version }) => [aggregate, version]));
  return [...versions].map(([aggregate, version]) => ({
    aggregate,
    kind: 'notes',
    version,
    status: 'open',
    view: text === undefined ? null : { text },
  }));
};

/** A write from its parts; what is not named is empty. */
export const writeOf = ({ events = [], ...parts }: Partial<BatchWrite>): BatchWrite => ({
  events,
  outbox: [],
  outboxConfirmed: [],
  snapshots: [],
  timersSet: [],
  timersCleared: [],
  heads: headsOf(events),
  ...parts,
});

export const eventOf = (aggregate: string, version: number, data: object = {}): StoredEvent => ({
  kind: 'notes',
  aggregate,
  version,
  type: 'happened',
  at: 1_700_000_000_000 + version,
  trace: undefined,
  body: JSON.stringify({ type: 'happened', version, ...data }),
});

export const timerOf = (
  aggregate: string,
  name: string,
  dueAt: number,
  data: TimerRow['data'] = null,
): TimerRow => ({
  aggregate,
  name,
  dueAt,
  data,
  trace: undefined,
});

export const messageOf = (id: string): WireMessage => ({
  subject: `hp.cmd.task.${id}`,
  headers: [['ce-id', id]],
  body: JSON.stringify({ id, text: 'ä"\\\n' }),
});

/** Locks an aggregate, lets `make` see its version, and commits what it makes. */
export const commitTo = async (
  store: Store,
  aggregate: string,
  make: (version: number, now: number) => Partial<BatchWrite>,
): Promise<{ readonly row: string | undefined; readonly version: number; readonly now: number }> => {
  const transaction = await store.lock([aggregate]);
  const version = transaction.locked.get(aggregate)?.version ?? 0;
  const write = writeOf(make(version, transaction.now));
  return {
    row: await transaction.commit(write),
    version: version + write.events.length,
    now: transaction.now,
  };
};

/** Adds one event; `text` is what the aggregate's summary says from then on. */
export const append = (store: Store, aggregate: string, parts: Partial<BatchWrite> = {}, text?: string) =>
  commitTo(store, aggregate, (version) => {
    const events = [eventOf(aggregate, version + 1)];
    return { events, heads: headsOf(events, text), ...parts };
  });
