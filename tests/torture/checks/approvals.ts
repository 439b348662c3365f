import type { StoredAggregate, StoredEvent } from '../evidence/evidence.ts';
import type { Operation } from '../history.ts';
import { type Check, type Finding, type Notes, takeNotes } from './check.ts';
import { replayProgram, replayTask, together } from './replay.ts';

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

type ShownDecision = { readonly status?: unknown; readonly by?: unknown };

/** The decision in the answer of `decide`. */
const decisionIn = ({ type, value }: Operation): ShownDecision | undefined => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  if (type === 'ok') return value;
  if (type !== 'fail' || value['code'] !== 'APPROVALS_ALREADY_DECIDED') return undefined;
  return value['details'] as ShownDecision | undefined;
};

const headShowsOutcome = ({ id, head, events }: StoredAggregate, { expect }: Notes): void => {
  if (head?.status === 'withdrawn') return;
  const resolved = events.find(({ type }) => type === 'resolved');
  const outcome = String(resolved?.data['outcome']);
  if (resolved !== undefined)
    expect(head?.status === outcome, () => `${id} is ${outcome}, and lists show ${String(head?.status)}`);
};

type Voted = readonly { readonly by: string; readonly decision: string }[];
const votesOf = (decision: StoredEvent['data']): Voted => (decision['votes'] ?? []) as Voted;

/** A principal who resolved the approval or whose vote counted. */
const isNamedBy = (decision: StoredEvent['data'], who: unknown): boolean =>
  decision['by'] === who || votesOf(decision).some(({ by }) => by === who);

const answersAgree = (
  approval: StoredAggregate,
  decisions: readonly Operation[],
  { expect }: Notes,
): void => {
  const decision = approval.events.find(({ type }) => type === 'resolved')?.data;
  for (const operation of decisions) {
    const shown = decisionIn(operation);
    // Under a quorum earlier voters learn no outcome.
    if (shown === undefined || shown.status === 'pending') continue;
    expect(
      decision !== undefined && shown.status === decision['outcome'] && isNamedBy(decision, shown.by),
      () =>
        `the answer to ${operation.actor} says that ${approval.id} is ${String(shown.status)} by ${String(shown.by)}; it is ${String(decision?.['outcome'])} by ${String(decision?.['by'])}`,
    );
  }
};

/** A successful answer means that exactly this decision counts. */
const verbsStand = (operations: readonly Operation[], { expect }: Notes): void => {
  const requests = new Map(
    operations.filter(({ type }) => type === 'invoke').map((each) => [each.call, each.value]),
  );
  for (const { call, type, value } of operations) {
    if (type !== 'ok') continue;
    const request = requests.get(call) as { decision?: keyof typeof OUTCOMES } | undefined;
    const answer = value as ShownDecision | undefined;
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
    headShowsOutcome(approval, notes);
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
  promise: 'an approval is resolved once, and every client gets the same decision',
  ofTask: (evidence) => together(replayTask('K6', evidence), decidedOnce(evidence)),
  ofProgram: (evidence) => {
    const { id, operations, questions } = evidence;
    return together(replayProgram('K6', evidence), decidedOnce({ id, operations, approvals: questions }));
  },
};
