import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { inputProblems, type InputRequest } from '@holdpoint/contracts/workflow/input';
import type { Json } from '@holdpoint/contracts/values/json';
import type { ProgramMessage } from '@holdpoint/programs/messages';
import type { Timeline } from './timeline.ts';

/** A question as an approver sees it. */
export type TestQuestion = {
  readonly approval: string;
  readonly task: string;
  readonly phase: string;
  readonly title: string;
  readonly body: string | undefined;
  readonly input: InputRequest;
  readonly audience: readonly string[];
};

/** An answer; `expired` stands for no answer in time. */
export type TestAnswer =
  | { readonly response: Json; readonly by?: string; readonly comment?: string }
  | { readonly expired: true };

/** Answers questions as they open; undefined leaves a question open. */
export type AnswerQuestion = (question: TestQuestion) => TestAnswer | undefined;

type OpenQuestion = { readonly request: RequestApproval; readonly callOff: () => void };

export type TestApprovals = {
  readonly answerWith: (answering: AnswerQuestion | readonly TestAnswer[]) => void;
  readonly open: () => readonly TestQuestion[];
  readonly ask: (request: RequestApproval) => void;
  readonly cancel: (id: string, about: Pick<RequestApproval, 'task' | 'node' | 'revision'>) => void;
  /** Throws `HoldpointError` for an unknown question or an invalid answer. */
  readonly decide: (id: string, answer: TestAnswer) => void;
};

type ResolvedMessage = Extract<ProgramMessage, { readonly kind: 'approval' }>;

const testQuestion = ({ id, task, node, title, body, input, audience }: RequestApproval): TestQuestion => ({
  approval: id,
  task,
  phase: node,
  title,
  body,
  input: input ?? { kind: 'approval' },
  audience,
});

/** The approvals service in memory, as far as programs use it. */
export const createTestApprovals = (
  timeline: Timeline,
  epoch: number,
  tell: (task: string, message: ResolvedMessage) => void,
): TestApprovals => {
  const open = new Map<string, OpenQuestion>();
  const resolved = new Map<string, ResolvedMessage>();
  let answering: AnswerQuestion = () => undefined;

  const resolve = (
    about: Pick<RequestApproval, 'id' | 'task' | 'node' | 'revision'>,
    more: Pick<ResolvedMessage['event'], 'outcome' | 'by' | 'response' | 'comment'>,
  ): void => {
    const { id, task, node, revision } = about;
    const at = epoch + timeline.now();
    const message: ResolvedMessage = {
      kind: 'approval',
      event: { type: 'resolved', id, task, node, revision, at, ...more },
    };
    resolved.set(id, message);
    open.get(id)?.callOff();
    open.delete(id);
    tell(task, message);
  };

  const decide: TestApprovals['decide'] = (id, answer) => {
    const { request } = open.get(id) ?? {};
    if (request === undefined)
      throw new HoldpointError('APPROVALS_UNKNOWN', `there is no open question ${id}`);
    if ('expired' in answer) return resolve(request, { outcome: 'expired', by: 'clock' });
    const { response, by = 'tester', comment } = answer;
    const problems = inputProblems(testQuestion(request).input, response);
    if (problems.length > 0) throw new HoldpointError('APPROVALS_RESPONSE_INVALID', problems.join('; '));
    return resolve(request, { outcome: 'answered', by, response, ...(comment !== undefined && { comment }) });
  };

  const offer = (request: RequestApproval): void => {
    const answer = answering(testQuestion(request));
    if (answer !== undefined) decide(request.id, answer);
  };

  return {
    open: () => [...open.values()].map(({ request }) => testQuestion(request)),
    decide,
    answerWith: (next) => {
      const queue = typeof next === 'function' ? undefined : [...next];
      answering = typeof next === 'function' ? next : () => queue?.shift();
      for (const { request } of open.values()) offer(request);
    },
    ask: (request) => {
      const known = resolved.get(request.id);
      if (known !== undefined) return tell(request.task, known);
      if (open.has(request.id)) return;
      const callOff = timeline.after(request.timeoutMs, () =>
        resolve(request, { outcome: 'expired', by: 'clock' }),
      );
      open.set(request.id, { request, callOff });
      offer(request);
    },
    cancel: (id, about) => {
      const known = resolved.get(id);
      if (known !== undefined) tell(about.task, known);
      else
        resolve({ ...about, id: id as RequestApproval['id'] }, { outcome: 'cancelled', by: 'orchestrator' });
    },
  };
};
