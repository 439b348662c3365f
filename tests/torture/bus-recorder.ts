import { AuditAnchored } from '@holdpoint/contracts/audit/audit';
import type { DeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { filters } from '@holdpoint/contracts/bus/subjects';
import type { Msg, NatsConnection } from '@nats-io/transport-node';

export type Recorded = {
  readonly subject: string;
  readonly body: Uint8Array;
  /** Its `ce-id`. */
  readonly id?: string | undefined;
  readonly seal?: string | undefined;
};
export type SeenFact = {
  readonly aggregate: string;
  readonly id: string;
  readonly version: number;
  readonly type: string;
};
export type SeenLetter = { readonly service: string; readonly ours: boolean; readonly letter: DeadLetter };

/** The prefix of message ids that the torture itself publishes. */
export const OURS = 'torture-';
/** The same for forged messages. */
export const FORGED = `${OURS}forged-`;

const KEPT_MAX = 4_000;
/** Every command except requests, which carry tokens, and live output. */
const COMMANDS = [
  'hp.cmd.task.*',
  'hp.cmd.approval.request',
  'hp.cmd.approval.cancel',
  'hp.cmd.effect.*.*',
  'hp.cmd.recovery.*',
] as const;

/** Records the traffic of the bus, to send it again and to compare it with the stores. */
export type Recorder = {
  /** The latest commands and events, oldest first. */
  readonly latest: () => readonly Recorded[];
  readonly facts: () => IterableIterator<SeenFact>;
  /** The anchors of the audit log. */
  readonly anchors: () => readonly string[];
  /** Called for every new event. */
  readonly onFact: (listener: (fact: SeenFact) => void) => void;
  /** By secret: how often it was seen. */
  readonly leaks: () => ReadonlyMap<string, number>;
  readonly bytes: () => number;
};

const idOf = (msg: Msg): string => msg.headers?.get(HEADERS.messageId) ?? '';

const factOf = (msg: Msg): SeenFact | undefined => {
  const version = Number(msg.headers?.get(HEADERS.version) || Number.NaN);
  const [, , aggregate = '', type = '', id = ''] = msg.subject.split('.');
  return Number.isInteger(version) ? { aggregate, id, version, type } : undefined;
};

export const createRecorder = async (
  connection: NatsConnection,
  secrets: ReadonlyMap<string, string>,
): Promise<Recorder> => {
  const kept: Recorded[] = [];
  const facts = new Map<string, SeenFact>();
  const anchors = new Set<string>();
  const listeners: ((fact: SeenFact) => void)[] = [];
  const leaks = new Map<string, number>();
  let bytes = 0;

  const search = (msg: Msg): void => {
    bytes += msg.data.length;
    const body = Buffer.from(msg.data);
    for (const [name, secret] of secrets)
      if (body.includes(secret)) leaks.set(name, (leaks.get(name) ?? 0) + 1);
  };
  const keep = (msg: Msg): void => {
    search(msg);
    if (idOf(msg).startsWith(OURS)) return;
    const [id, seal] = [HEADERS.id, HEADERS.seal].map((name) => msg.headers?.get(name) || undefined);
    kept.push({ subject: msg.subject, body: msg.data, id, seal });
    if (kept.length > 2 * KEPT_MAX) kept.splice(0, KEPT_MAX);
  };
  const takeFact = (msg: Msg): void => {
    keep(msg);
    const fact = idOf(msg).startsWith(OURS) ? undefined : factOf(msg);
    if (fact === undefined) return;
    const key = `${fact.aggregate}/${fact.id}/${String(fact.version)}`;
    if (!facts.has(key)) for (const listener of listeners) listener(fact);
    facts.set(key, fact);
    const anchor = fact.type === 'audit_anchored' ? AuditAnchored.safeParse(msg.json()).data : undefined;
    if (anchor !== undefined) anchors.add(anchor.statement);
  };

  const listen = (subject: string, take: (msg: Msg) => void): void => {
    connection.subscribe(subject, { callback: (error, msg) => (error === null ? take(msg) : undefined) });
  };
  listen(filters.events, takeFact);
  for (const subject of COMMANDS) listen(subject, keep);
  await connection.flush();

  return {
    latest: () => kept.slice(-KEPT_MAX),
    facts: () => facts.values(),
    anchors: () => [...anchors],
    onFact: (listener) => void listeners.push(listener),
    leaks: () => leaks,
    bytes: () => bytes,
  };
};
