import { CAPABILITIES } from '@holdpoint/contracts/effect/capabilities';
import { IDENTITY_HEADER, IDENTITY_MS } from '@holdpoint/contracts/approval/identity';
import { TaskId } from '@holdpoint/contracts/values/ids';
import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { RunEffect } from '@holdpoint/contracts/effect/commands';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { WireMessage } from '@holdpoint/runtime/engine/ports';
import { assertionOf } from '../users/identities.ts';
import { PEOPLE } from '../workload/gates.ts';
import type { World } from '../world.ts';

export const MALFORMED = '{"id":';

const EVERY_MS = 2_500;
const REMEMBERS = 300;
const TRICKS = [
  'an old message comes again',
  'an old message comes again under a new id',
  'a message is malformed',
  'an order is changed, its digest too',
  'an order is changed, its digest is not',
  'an effect is ordered without its grant',
  'an effect is ordered as work',
  'an approval is forged',
  'a command forges the identity of a person',
  'a command shows an identity that has ended',
  'a node is taken as done in the name of a person',
  'a rollback passes as one that a verdict ordered',
] as const;

/** The number of a trick, for an id. */
const place = (name: string): string => name.replace(/\D/g, '');

/** A client with valid credentials and bad intent: it repeats, changes and forges messages. */
export const startAdversary = (
  { timeline, choices, bus, books, watchers, trace, askers, seals }: World,
  overMs: number,
  severity: number,
  without: ReadonlySet<string>,
): { readonly struck: () => readonly string[] } => {
  const heard: WireMessage[] = [];
  const struck: string[] = [];
  watchers.published.push((wire) => {
    heard.push(wire);
    if (heard.length > REMEMBERS) heard.shift();
  });

  const say = (name: string, wire: Omit<WireMessage, 'headers'>): void =>
    bus.publish(name, { ...wire, headers: [[HEADERS.messageId, name]] });

  /** Every other order has the seal of the orchestrator: only the executor's own checks refuse it. */
  const order = (name: string, body: string): void => {
    const subject = subjects.effectCommand('run', DEFAULT_POOL);
    if (!choices.pick(`sealed ${name}`, [true, false])) return say(name, { subject, body });
    const { headers } = seals.sealedBy('orchestrator', name, subject, body);
    bus.publish(name, { subject, body, headers: [[HEADERS.messageId, name], ...headers] });
  };

  const heardOrder = (name: string): RunEffect | undefined => {
    const orders = heard
      .filter(({ subject }) => subject.startsWith('hp.cmd.effect.run.'))
      .map(({ body }) => RunEffect.parse(JSON.parse(body)))
      .filter(({ effect }) => CAPABILITIES[effect.uses]?.work !== true);
    return orders.length === 0 ? undefined : choices.pick(name, orders);
  };

  const ungranted = (name: string, kind?: 'work'): void => {
    const real = heardOrder(name);
    if (real === undefined) return;
    const { grant: _grant, ...rest } = real;
    const effect = kind === undefined ? real.effect : { ...real.effect, kind };
    order(name, JSON.stringify({ ...rest, effect, digest: effectDigest(effect) }));
  };

  const changedOrder = (name: string, alsoDigest: boolean): void => {
    const real = heardOrder(name);
    if (real === undefined) return;
    const effect = { ...real.effect, args: { text: 'something else' } };
    const digest = alsoDigest ? effectDigest(effect) : real.digest;
    const attempt = real.attempt + choices.pick(`attempt ${name}`, [0, 1]);
    order(name, JSON.stringify({ ...real, effect, digest, attempt }));
  };

  const forgedApproval = (name: string): void => {
    const pending = [...books.approvals.states].filter(([, state]) => state.status === 'pending');
    if (pending.length === 0) return;
    const [id, state] = choices.pick(name, pending);
    if (state.status !== 'pending') return;
    const { task, node, revision } = state.request;
    const at = state.requestedAt;
    const forged = { outcome: 'approved', by: 'ada', grant: 'forged.grant', validUntil: at + 3_600_000, at };
    say(name, {
      subject: subjects.event('approval', 'resolved', id),
      body: JSON.stringify({ type: 'resolved', id, task, node, revision, ...forged }),
    });
  };

  /** The bus user of people may send any command, with any header. */
  const sayAsPerson = (name: string, command: string, body: object, identity?: string): void =>
    bus.publish(name, {
      subject: subjects.peopleCommand(command),
      headers: [
        [HEADERS.messageId, name],
        ...(identity === undefined ? [] : [[IDENTITY_HEADER, identity] as const]),
      ],
      body: JSON.stringify(body),
    });

  const openNode = (name: string): { readonly id: string; readonly node: string } | undefined => {
    const tasks = [...books.orchestrator.states].flatMap(([id, state]) =>
      'definition' in state ? state.definition.nodes.map(({ id: node }) => ({ id, node })) : [],
    );
    return tasks.length === 0 ? undefined : choices.pick(name, tasks);
  };

  const forgedIdentity = (name: string, identity: string): void => {
    const job = openNode(name);
    if (job !== undefined) sayAsPerson(name, choices.pick(`how ${name}`, ['done', 'skip']), job, identity);
  };

  const [text = '', mark = ''] = assertionOf(PEOPLE.linus, 0).split('.');
  const forged = [Buffer.from(text, 'base64url').toString().replace('linus', 'grace'), mark];

  const play = (trick: (typeof TRICKS)[number], name: string): void => {
    switch (trick) {
      case 'an old message comes again':
        return heard.length === 0 ? undefined : bus.publish(name, choices.pick(name, heard));
      case 'an old message comes again under a new id':
        return heard.length === 0 ? undefined : say(name, choices.pick(name, heard));
      case 'a message is malformed':
        return say(name, { subject: subjects.approvalCommand('request'), body: MALFORMED });
      case 'an order is changed, its digest too':
        return changedOrder(name, true);
      case 'an order is changed, its digest is not':
        return changedOrder(name, false);
      case 'an effect is ordered without its grant':
        return ungranted(name);
      case 'an effect is ordered as work':
        return ungranted(name, 'work');
      case 'an approval is forged':
        return forgedApproval(name);
      case 'a command forges the identity of a person':
        return forgedIdentity(
          name,
          [Buffer.from(forged[0] ?? '').toString('base64url'), forged[1]].join('.'),
        );
      case 'a command shows an identity that has ended':
        return forgedIdentity(name, assertionOf(PEOPLE.ada, timeline.now() - 2 * IDENTITY_MS));
      case 'a node is taken as done in the name of a person': {
        const job = openNode(name);
        return job && sayAsPerson(name, 'done', { ...job, by: 'ada' });
      }
      case 'a rollback passes as one that a verdict ordered': {
        const id = `x-${place(name)}`;
        const worktree = '.holdpoint/worktrees/work-t-1-prepare';
        askers.set(TaskId.parse(id), 'mallory');
        return sayAsPerson(name, 'submit', {
          id,
          workflow: 'rollback',
          goal: 'undo the work of another task',
          requestedBy: 'linus',
          repository: '/srv/repository',
          inputs: { task: 't-1', node: 'work', attempt: 1, commit: 'a'.repeat(40), place: { worktree } },
          rollbackOf: { task: 't-1', node: 'work', attempt: 1, worktree },
        });
      }
    }
  };

  for (let i = 0; i < (overMs / EVERY_MS) * severity; i += 1) {
    const place = `adversary ${String(i)}`;
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
