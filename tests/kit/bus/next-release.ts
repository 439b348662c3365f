import { HEADERS, headerIn } from '@holdpoint/contracts/bus/cloudevents';
import type { Decision } from '@holdpoint/runtime/decider';
import type { WireMessage } from '@holdpoint/runtime/engine/ports';

/** What a release after this one may add, by the rules of docs/upgrade.md and docs/releases.md. */

/** A field that only the next release knows. */
const FIELD = 'ofTheNextRelease';
const ADDED = { version: 3 };
const HEADER = 'holdpoint-next';
/** An event that only the next release knows. It tells of another event. */
const EVENT = 'measured';
const EFFECT_EVENT = /^hp\.evt\.effect\.(?!measured\.)[^.]+\./;

/** Content of users, content whose digest was approved or signed, and maps: no release adds a field to them. */
const CLOSED: ReadonlySet<string> = new Set([
  'args',
  'context',
  'data',
  'definition',
  'effect',
  'gate',
  'grant',
  'held',
  'input',
  'inputs',
  'outputs',
  'preview',
  'reviews',
  'thresholds',
]);

const extended = (value: unknown): unknown => {
  if (Array.isArray(value)) return (value as readonly unknown[]).map(extended);
  if (typeof value !== 'object' || value === null) return value;
  const known = Object.entries(value as Record<string, unknown>).map(([name, each]) => [
    name,
    CLOSED.has(name) ? each : extended(each),
  ]);
  return { ...(Object.fromEntries(known) as object), [FIELD]: ADDED };
};

const measured = ({ subject, headers }: WireMessage): WireMessage => {
  const parts = subject.split('.');
  const id = `${headerIn(headers, HEADERS.id) ?? ''}/${EVENT}`;
  return {
    subject: [...parts.slice(0, 3), EVENT, ...parts.slice(4)].join('.'),
    headers: [
      [HEADERS.messageId, id],
      [HEADERS.id, id],
    ],
    body: JSON.stringify({ type: EVENT, milliseconds: 3 }),
  };
};

/**
 * The messages that the next release sends in place of this one: with a field in each object, another header, and an event more.
 * Requests among the replicas of one service stay as they are.
 */
export const sentByNext = (message: WireMessage): readonly WireMessage[] => {
  const { subject, headers, body } = message;
  if (subject.startsWith('hp.own.')) return [message];
  const more: WireMessage = {
    subject,
    headers: [...headers, [HEADER, 'yes']],
    body: JSON.stringify(extended(JSON.parse(body))),
  };
  return EFFECT_EVENT.test(subject) ? [more, measured(message)] : [more];
};

/** An event that no decision of this release has led to. */
export const isOfNext = ({ headers }: Pick<WireMessage, 'headers'>): boolean =>
  headerIn(headers, HEADERS.id)?.endsWith(`/${EVENT}`) === true;

export const hasFieldOfNext = (payload: unknown): boolean =>
  typeof payload === 'object' && payload !== null && FIELD in payload;

/** The next release stores a field more in each event. */
export const decidedByNext = <Event extends object, Work>({
  after: _,
  ...made
}: Decision<Event, Work>): Decision<Event, Work> => ({
  ...made,
  events: made.events.map((event) => ({ ...event, [FIELD]: ADDED })),
});
