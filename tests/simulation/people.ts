import type { ApprovalEvent, Choice, Verb } from '@holdpoint/contracts/approval';
import { ApprovalId } from '@holdpoint/contracts/ids';
import type { Change } from './books.ts';
import type { Cluster } from './cluster.ts';
import { startHands } from './hands.ts';
import type { Node, Told } from './node.ts';
import { LATE_MS } from './target.ts';
import type { World } from './world.ts';

const OPERATOR = { name: 'ada', groups: ['operators'] };
const OTHER = { name: 'linus', groups: ['operators', 'others'] };
const STRANGER = { name: 'mallory', groups: ['others'] };

const ASK_AGAIN_MS = 4_000;
const CALLS_MAX = 12;
const LOOKS_WITHIN_MS = 15_000;
const AROUND_EXPIRY_MS = 60;
/** Also a frozen process has thawed by then, and has been told that its lease is over. */
const AFTER_LATE_MS = 60_000;
const DECIDES = { nobody: 0.1, atExpiry: 0.08, two: 0.15, stranger: 0.04 } as const;

export type Call = <Message>(
  nodes: readonly Node<Message>[],
  aggregate: string,
  message: Message,
  told?: (told: Told) => void,
) => void;

/** People who decide, and operators who look after what was put to them. */
export const startPeople = (world: World, cluster: Cluster) => {
  const { timeline, choices, judge, books } = world;

  const up = <Message>(nodes: readonly Node<Message>[], place: string): Node<Message> | undefined => {
    const candidates = nodes.filter((node) => node.isUp());
    return candidates.length === 0 ? undefined : choices.pick(place, candidates);
  };

  /** Calls until it is told something: every call may be made again. */
  const call = <Message>(
    nodes: readonly Node<Message>[],
    aggregate: string,
    message: Message,
    told: (told: Told) => void = () => undefined,
    calls = 1,
  ): void => {
    let heard = false;
    up(nodes, `api ${aggregate}`)?.call(aggregate, message, (what) => {
      heard = typeof what === 'object';
      if (heard) told(what);
    });
    timeline.in(ASK_AGAIN_MS * calls, () => {
      if (!heard && calls < CALLS_MAX) call(nodes, aggregate, message, told, calls + 1);
    });
  };

  const decide = (id: ApprovalId, verb: Choice, by: typeof OPERATOR): void => {
    const message = { kind: 'decide', payload: { id, decision: verb }, by } as const;
    call(cluster.approvals, id, message, (told) => {
      if (typeof told !== 'object' || told.answer === undefined || !('ok' in told.answer)) return;
      const { ok } = told.answer;
      const state = books.approvals.stateOf(id);
      const stands =
        state.status === 'closed' && state.decided.outcome === ok['status'] && state.decided.by === ok['by'];
      judge.expect(
        'the answer to a decision is what stands',
        stands,
        id,
        () => `${by.name} was told ${JSON.stringify(ok)}, but it is ${JSON.stringify(state)}`,
      );
    });
  };

  const verbFor = (place: string): Verb => {
    const drawn = choices.number(place);
    if (drawn < 0.84) return 'approve';
    return drawn < 0.95 ? 'reject' : 'request_changes';
  };

  /** Nobody looks before everything that was on its way has arrived: after that the target is believed. */
  const askedWhatBecame = (id: ApprovalId, effect: string): void => {
    const place = `answer to ${id}`;
    if (choices.happens(`stranger ${place}`, DECIDES.stranger))
      timeline.in(choices.between(place, 0, LOOKS_WITHIN_MS), () => decide(id, 'applied', STRANGER));
    if (choices.happens(`nobody ${place}`, DECIDES.nobody)) return;
    const answer = (): Choice => {
      if (world.target.applications(effect) > 0) return 'applied';
      return choices.pick(place, ['not_applied', 'retry', 'retry']);
    };
    timeline.in(LATE_MS + choices.between(place, AFTER_LATE_MS, AFTER_LATE_MS + LOOKS_WITHIN_MS), () =>
      decide(id, answer(), OPERATOR),
    );
  };

  const asked = ({ event }: Change<unknown, ApprovalEvent>): void => {
    if (event.type !== 'requested') return;
    const place = `decision on ${event.id}`;
    const id = ApprovalId.parse(event.id);
    if (event.doubt !== undefined) return askedWhatBecame(id, event.effectId);
    if (choices.happens(`stranger ${place}`, DECIDES.stranger))
      timeline.in(choices.between(place, 0, LOOKS_WITHIN_MS), () => decide(id, 'approve', STRANGER));
    if (choices.happens(`nobody ${place}`, DECIDES.nobody)) return;
    const when = choices.happens(`at expiry ${place}`, DECIDES.atExpiry)
      ? event.timeoutMs + choices.between(place, -AROUND_EXPIRY_MS, AROUND_EXPIRY_MS)
      : choices.between(place, 0, LOOKS_WITHIN_MS);
    timeline.in(when, () => decide(id, verbFor(place), OPERATOR));
    if (choices.happens(`two ${place}`, DECIDES.two))
      timeline.in(when + choices.between(place, -5, 5), () => decide(id, verbFor(`other ${place}`), OTHER));
  };

  const hands = startHands(world, cluster, call);
  return { asked, call, tell: hands.tell, happened: hands.happened };
};
