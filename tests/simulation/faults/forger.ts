import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { type ServiceName, SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import { entryIn } from '@holdpoint/executor/effect/state';
import type { WireMessage } from '@holdpoint/runtime/engine/ports';
import type { World } from '../world.ts';

const EVERY_MS = 2_500;
const REMEMBERS = 200;
const TRICKS = [
  'an outcome of an effect is forged',
  'a message is changed under its seal',
  'a message comes under the seal of another',
  'a message comes again on another subject',
  'a service seals a decision of approvals',
  'a service seals an outcome of an executor',
  'the key of a service changes',
] as const;

const OTHERS: readonly ServiceName[] = ['orchestrator', 'recovery'];

/** An intruder with bus credentials: forges, changes and moves messages, also with the key of a service they broke into. */
export const startForger = (
  { timeline, choices, bus, books, watchers, trace, seals }: World,
  overMs: number,
  severity: number,
  without: ReadonlySet<string>,
): { readonly struck: () => readonly string[] } => {
  const heard: WireMessage[] = [];
  const struck: string[] = [];
  watchers.published.push((wire) => {
    if (!wire.headers.some(([name]) => name === HEADERS.seal)) return;
    heard.push(wire);
    if (heard.length > REMEMBERS) heard.shift();
  });

  /** Keeps the seal and the id of the message, under a message id that the bus has not seen. */
  const say = (name: string, { subject, body, headers }: WireMessage): void =>
    bus.publish(name, {
      subject,
      body,
      headers: [[HEADERS.messageId, name], ...headers.filter(([key]) => key !== HEADERS.messageId)],
    });

  const aHeard = (name: string): WireMessage | undefined =>
    heard.length === 0 ? undefined : choices.pick(name, heard);

  const outcome = (name: string): { readonly subject: string; readonly body: string } | undefined => {
    const open = [...books.executor.states].flatMap(([id, state]) => {
      const order = entryIn(state)?.order;
      return order === undefined ? [] : [{ id, order }];
    });
    if (open.length === 0) return undefined;
    const { id, order } = choices.pick(name, open);
    const { effect, attempt } = order;
    const type = choices.pick(`outcome ${name}`, ['applied', 'failed_clean'] as const);
    const found =
      type === 'applied' ? { outputs: {} } : { error: { code: 'NODE_FAILED', message: 'forged' } };
    const fact = { type, id, task: effect.task, node: effect.node, attempt, epoch: 1, ...found };
    return { subject: subjects.event('effect', type, id), body: JSON.stringify(fact) };
  };

  const decision = (name: string): { readonly subject: string; readonly body: string } | undefined => {
    const pending = [...books.approvals.states].filter(([, state]) => state.status === 'pending');
    if (pending.length === 0) return undefined;
    const [id, state] = choices.pick(name, pending);
    if (state.status !== 'pending') return undefined;
    const { task, node, revision } = state.request;
    const said = choices.pick(`decision ${name}`, [
      { outcome: 'approved', grant: 'forged.grant', validUntil: state.requestedAt + 3_600_000 },
      { outcome: 'rejected' },
      { outcome: 'changes_requested', comment: 'forged' },
      { outcome: 'answered', answer: 'done' },
      { outcome: 'answered', answer: 'retry' },
      { outcome: 'answered', response: 'forged' },
      { outcome: 'expired' },
    ]);
    const fact = { type: 'resolved', id, task, node, revision, by: 'ada', at: state.requestedAt, ...said };
    return { subject: subjects.event('approval', 'resolved', id), body: JSON.stringify(fact) };
  };

  const asService = (name: string, what: ReturnType<typeof outcome>): void => {
    if (what === undefined) return;
    say(name, seals.sealedBy(choices.pick(`as ${name}`, OTHERS), name, what.subject, what.body));
  };

  const play = (trick: (typeof TRICKS)[number], name: string): void => {
    const one = aHeard(`first ${name}`);
    const other = aHeard(`second ${name}`);
    switch (trick) {
      case 'an outcome of an effect is forged': {
        const what = outcome(name);
        return what && say(name, { ...what, headers: [[HEADERS.id, name]] });
      }
      case 'a message is changed under its seal':
        return one && say(name, { ...one, body: `${one.body} ` });
      case 'a message comes under the seal of another':
        return one && other && one !== other ? say(name, { ...one, headers: other.headers }) : undefined;
      case 'a message comes again on another subject':
        return one && other && one.subject !== other.subject
          ? say(name, { ...one, subject: other.subject })
          : undefined;
      case 'a service seals a decision of approvals':
        return asService(name, decision(name));
      case 'a service seals an outcome of an executor':
        return asService(name, outcome(name));
      case 'the key of a service changes':
        return seals.rotate(choices.pick(name, SERVICES));
    }
  };

  for (let i = 0; i < (overMs / EVERY_MS) * severity; i += 1) {
    const place = `forger ${String(i)}`;
    const trick = choices.pick(place, TRICKS);
    const name = `${trick} @ ${place}`;
    if (without.has(name)) continue;
    timeline.in(choices.between(`when ${place}`, 0, overMs), () => {
      struck.push(name);
      trace.fault(name);
      play(trick, place);
    });
  }
  return { struck: () => struck };
};
