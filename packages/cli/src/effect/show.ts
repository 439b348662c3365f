import { sourceText } from '@holdpoint/contracts/approval/facts-text';
import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { CallbackView } from '@holdpoint/contracts/effect/hold';
import type { EffectOrder, EffectView } from '@holdpoint/contracts/effect/views';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { jobOf } from '@holdpoint/contracts/values/ids';
import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import type { Client } from '../bus/client.ts';
import { columns, instant } from '../output/columns.ts';
import { printableLines } from '../output/printable.ts';

const NEXT: Readonly<Record<NonNullable<EffectView['next']>, string>> = {
  repeat: 'retry automatically',
  probe: 'probe the target',
  person: 'an operator answers',
};

/** The records of other services about an effect, as far as they are kept and this user may read them. */
export type EffectRecords = {
  readonly approval?: ApprovalView | undefined;
  readonly order?: EffectOrder | undefined;
  readonly events?: readonly HistoryEntry[] | undefined;
  readonly callbacks?: readonly CallbackView[] | undefined;
};

const kept = async <Answer>(asked: Promise<Answer>): Promise<Answer | undefined> => {
  try {
    return await asked;
  } catch (error) {
    // Purged, or not readable with this token: the ledger's entry alone is shown.
    if (error instanceof HoldpointError) return undefined;
    throw error;
  }
};

const callbacksOf = async (
  client: Client,
  task: string,
  events: readonly HistoryEntry[],
): Promise<readonly CallbackView[] | undefined> => {
  const [first] = events;
  const last = events.at(-1);
  const inputs = first?.data['inputs'];
  const hasCallback = typeof inputs === 'object' && inputs !== null && 'callback' in inputs;
  if (!hasCallback || last === undefined) return undefined;
  return (await kept(client.call('approvals', 'callbacks', { task, version: last.version })))?.items;
};

export const recordsOf = async (
  client: Client,
  { id, task, approval }: EffectView,
): Promise<EffectRecords> => {
  const [asked, order, history] = await Promise.all([
    approval === undefined ? undefined : kept(client.call('approvals', 'get', { id: approval })),
    kept(client.call('executor', 'order', { id })),
    kept(client.call('orchestrator', 'history', { id: task })),
  ]);
  const events = history?.events;
  const callbacks = events && (await callbacksOf(client, task, events));
  return { approval: asked, order, events, callbacks };
};

const ENDS: ReadonlySet<string> = new Set(['node_succeeded', 'node_ended', 'node_failed', 'completed']);

/** Epoch milliseconds of the latest order of an effect, and of the report that followed. */
const timesIn = (events: readonly HistoryEntry[], { id, node }: EffectView) => {
  const at = events.findLastIndex(({ type, data }) => type === 'effect_ordered' && data['effectId'] === id);
  if (at < 0) return {};
  const ended = events.slice(at).find(({ type, data }) => ENDS.has(type) && (data['node'] ?? node) === node);
  return { orderedAt: events[at]?.at, endedAt: ended?.at };
};

const timed = (label: string, at: number | undefined): readonly (readonly string[])[] =>
  at === undefined ? [] : [[label, instant(at)]];

const approvedBy = ({ decidedBy, decidedAt, comment }: ApprovalView): string =>
  [
    decidedBy ?? 'unknown',
    ...(decidedAt === undefined ? [] : [`at ${instant(decidedAt)}`]),
    ...(comment === undefined ? [] : [`“${comment}”`]),
  ].join(' ');

const triesText = (tries: number): string => (tries === 1 ? '1 attempt' : `${String(tries)} attempts`);

const callbackText = ({ event, state, tries, at, problem }: CallbackView): string =>
  [`${event} ${state}`, triesText(tries), instant(at), ...(problem === undefined ? [] : [problem])].join(
    ', ',
  );

const startsText = (starts: number): string => (starts === 1 ? '1 start' : `${String(starts)} starts`);

export const effectText = (
  effect: EffectView,
  { approval, order, events = [], callbacks = [] }: EffectRecords,
): readonly string[] => {
  const { id, task, node, state, starts, uses, target, effectClass, idempotencyKey, digest } = effect;
  const { reason, next, cause, deferredReason: waits, answer, answeredBy } = effect;
  const { duplicatesPrevented: prevented = 0, remote } = effect;
  const { orderedAt, endedAt } = timesIn(events, effect);
  const rows: (readonly string[])[] = [
    ['effect', id],
    ['task', jobOf(task, node)],
    ...(uses === undefined ? [] : [['what', `${uses} on ${target ?? '?'}, ${effectClass ?? '?'}`]]),
    ['state', `${state.replace('_', ' ')} (${startsText(starts)})`],
    ...(approval === undefined ? [] : [['approved by', approvedBy(approval)]]),
    ...timed('ordered', orderedAt),
    ...(remote === undefined
      ? []
      : [
          [
            'claimed by',
            [
              remote.claimant,
              `with a token of ${remote.principal}`,
              ...(remote.from === undefined ? [] : [`from ${sourceText(remote.from)}`]),
              `since ${instant(remote.since)}`,
            ].join(', '),
          ],
        ]),
    ...timed('ended', endedAt),
    ...printableLines(reason ?? '').flatMap((line, i) =>
      line === '' ? [] : [[i === 0 ? 'reason' : '', line]],
    ),
    ...(cause === undefined ? [] : [['cause', cause.replaceAll('_', ' ')]]),
    ...(next === undefined ? [] : [['next', NEXT[next]]]),
    ...(waits === undefined ? [] : [['waits', waits]]),
    ...(prevented === 0 ? [] : [['prevented', `${String(prevented)} duplicates`]]),
    ...(answer === undefined ? [] : [['answer', `${answer} by ${answeredBy ?? 'unknown'}`]]),
    ...callbacks.map((callback, i) => [i === 0 ? 'callback' : '', callbackText(callback)]),
    ['key', idempotencyKey],
    ['digest', digest],
  ];
  const result = order?.outputs === undefined ? [] : JSON.stringify(order.outputs, undefined, 2).split('\n');
  return [
    ...columns(rows),
    ...(result.length === 0 ? [] : ['result', ...result.flatMap(printableLines).map((line) => `  ${line}`)]),
  ];
};
