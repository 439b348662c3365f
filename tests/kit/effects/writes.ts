import type {
  BatchWrite,
  Head,
  StoredEvent,
  Store,
  TimerRow,
  WireMessage,
} from '@holdpoint/runtime/engine/ports';

/** The heads of these events, with an optional summary. */
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

/** A batch write from its parts; missing parts are empty. */
export const writeOf = ({ events = [], ...parts }: Partial<BatchWrite>): BatchWrite => ({
  events,
  announced: events,
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

/** Locks an aggregate, passes its version to `make`, and commits the result. */
export const commitTo = async (
  store: Store,
  aggregate: string,
  make: (version: number, now: number) => Partial<BatchWrite>,
): Promise<{ readonly row: string | undefined; readonly version: number; readonly now: number }> => {
  const transaction = await store.lock([aggregate]);
  const version = transaction.locked.get(aggregate)?.version ?? 0;
  const write = writeOf(make(version, transaction.now));
  try {
    const row = await transaction.commit(write);
    return { row, version: version + write.events.length, now: transaction.now };
  } catch (error) {
    // A failed commit does not wait until the server has freed the locks. A rollback does, as in the host.
    await transaction.rollback();
    throw error;
  }
};

/** Adds one event; `text` becomes the summary of the aggregate. */
export const append = (store: Store, aggregate: string, parts: Partial<BatchWrite> = {}, text?: string) =>
  commitTo(store, aggregate, (version) => {
    const events = [eventOf(aggregate, version + 1)];
    return { events, heads: headsOf(events, text), ...parts };
  });
