import type { StoredAggregate, StoredEvent } from '../evidence/evidence.ts';
import type { Operation } from '../history.ts';
import { type Check, type Finding, type Notes, takeNotes } from './check.ts';

const OUTCOMES = {
  approve: 'approved',
  reject: 'rejected',
  request_changes: 'changes_requested',
  applied: 'answered',
  not_applied: 'answered',
  retry: 'answered',
  skip: 'answered',
  done: 'answered',
  cancel: 'answered',
  respond: 'answered',
} as const;

type Told = { readonly status?: unknown; readonly by?: unknown };

/** What the caller of a decision was told about which decision stands. */
const toldBy = ({ type, value }: Operation): Told | undefined => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  if (type === 'ok') return value;
  if (type !== 'fail' || value['code'] !== 'APPROVALS_ALREADY_DECIDED') return undefined;
  return value['details'] as Told | undefined;
};

/** Cancelled before anybody was asked: then nothing else ever happens to it. */
const isWithdrawn = ({ head, events }: StoredAggregate): boolean =>
  head?.status === 'withdrawn' && events.length === 1 && events[0]?.data['outcome'] === 'cancelled';

const oneEnd = (approval: StoredAggregate, { expect }: Notes): void => {
  const { id, head, events } = approval;
  const resolved = events.filter(({ type }) => type === 'resolved');
  expect(resolved.length <= 1, () => `${id} was decided ${String(resolved.length)} times`);
  if (isWithdrawn(approval)) return;
  const [requested] = events;
  expect(requested?.type === 'requested', () => `${id} does not begin with a request`);
  const decision = resolved[0]?.data;
  if (decision === undefined) return;
  const outcome = String(decision['outcome']);
  expect(head?.status === outcome, () => `${id} is ${outcome}, and shown as ${String(head?.status)}`);
  const deadline = Number(requested?.data['expiresAt']);
  const at = Number(decision['at']);
  const policy = requested?.data['policy'] as { readonly quorum?: number } | undefined;
  const quorum = policy?.quorum ?? 1;
  if (outcome === 'approved' && quorum > 1) {
    const people = new Set(
      votesOf(decision).flatMap((vote) => (vote.decision === 'approve' ? [vote.by] : [])),
    );
    expect(
      people.size >= quorum,
      () => `${id} took ${String(quorum)} people, and ${String(people.size)} approved`,
    );
  }
  if (outcome === 'expired') expect(at >= deadline, () => `${id} expired before its deadline`);
  else if (outcome !== 'cancelled') expect(at < deadline, () => `${id} was ${outcome} after its deadline`);
};

type Voted = readonly { readonly by: string; readonly decision: string }[];
const votesOf = (decision: StoredEvent['data']): Voted => (decision['votes'] ?? []) as Voted;

/** Whoever closed it, or whose word counted with his. */
const isNamedBy = (decision: StoredEvent['data'], who: unknown): boolean =>
  decision['by'] === who || votesOf(decision).some(({ by }) => by === who);

const answersAgree = (
  approval: StoredAggregate,
  decisions: readonly Operation[],
  { expect }: Notes,
): void => {
  const decision = approval.events.find(({ type }) => type === 'resolved')?.data;
  for (const operation of decisions) {
    const told = toldBy(operation);
    // Whoever is not the last that it takes hears nothing of the end yet.
    if (told === undefined || told.status === 'pending') continue;
    expect(
      decision !== undefined && told.status === decision['outcome'] && isNamedBy(decision, told.by),
      () =>
        `${operation.actor} was told that ${approval.id} is ${String(told.status)} by ${String(told.by)}; it is ${String(decision?.['outcome'])} by ${String(decision?.['by'])}`,
    );
  }
};

/** A yes to a decision means that exactly this decision stands. */
const verbsStand = (operations: readonly Operation[], { expect }: Notes): void => {
  const asked = new Map(
    operations.filter(({ type }) => type === 'invoke').map((each) => [each.call, each.value]),
  );
  for (const { call, type, value } of operations) {
    if (type !== 'ok') continue;
    const request = asked.get(call) as { decision?: keyof typeof OUTCOMES } | undefined;
    const answer = value as Told | undefined;
    if (request?.decision === undefined) continue;
    const wanted = OUTCOMES[request.decision];
    expect(
      answer?.status === wanted || (wanted === 'approved' && answer?.status === 'pending'),
      () => `${request.decision ?? ''} was answered with ${String(answer?.status)}`,
    );
  }
};

const requestOf = (operations: readonly Operation[], call: number): string | undefined =>
  (
    operations.find((each) => each.call === call && each.type === 'invoke')?.value as
      | { id?: string }
      | undefined
  )?.id;

type Decided = {
  readonly id: string;
  readonly operations: readonly Operation[];
  readonly approvals: readonly StoredAggregate[];
};

const decidedOnce = ({ id, operations, approvals: stored }: Decided): Finding => {
  const notes = takeNotes(id);
  const decisions = operations.filter(({ op }) => op === 'approvals.decide');
  for (const approval of stored) {
    oneEnd(approval, notes);
    answersAgree(
      approval,
      decisions.filter(({ call }) => requestOf(decisions, call) === approval.id),
      notes,
    );
  }
  verbsStand(decisions, notes);
  return notes.finding();
};

export const approvals: Check = {
  id: 'K6',
  promise: 'an approval ends once, never both decided and expired, and everybody is told the same',
  ofTask: decidedOnce,
  ofProgram: ({ id, operations, questions }) => decidedOnce({ id, operations, approvals: questions }),
};
