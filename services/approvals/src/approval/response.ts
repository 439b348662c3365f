import type { Choice, DecideApproval, RequestApproval } from '@holdpoint/contracts/approval/commands';
import { choicesOf } from '@holdpoint/contracts/approval/question';
import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import { inputProblems } from '@holdpoint/contracts/workflow/input';
import { canonicalJson, type Json } from '@holdpoint/contracts/values/json';

// Responses to questions of programs. An invalid response decides nothing.

type Question = Pick<RequestApproval, 'policy' | 'inDoubt' | 'stuck' | 'input'>;
type Reply = Pick<DecideApproval, 'decision' | 'response'>;

/** Limit of a response as JSON: it has to fit into one message together with its request. */
export const RESPONSE_MAX_BYTES = 262_144;
/** Limit of a response that an error text mentions. */
const SHOWN_MAX = 200;

/**
 * The choices that a request allows. A yes-or-no question also takes `approve` and `reject`, so that buttons
 * for effects work for it. A bulk decision does not: it may only decide alike on effects.
 */
export const allowedChoices = (request: Question, isOneOfMany: boolean): readonly Choice[] => {
  const choices = choicesOf(request);
  return request.input?.kind === 'approval' && !isOneOfMany ? [...choices, 'approve', 'reject'] : choices;
};

/** The response that a decision contains, if any. */
export const responseOf = ({ decision, response }: Reply): Json | undefined => {
  switch (decision) {
    case 'respond':
      return response;
    case 'approve':
    case 'reject':
      return decision === 'approve';
    default:
      return undefined;
  }
};

const problemsOf = (input: NonNullable<Question['input']>, response: Json | undefined): readonly string[] => {
  if (response === undefined) return ['a response is required'];
  const bytes = Buffer.byteLength(JSON.stringify(response));
  return bytes > RESPONSE_MAX_BYTES
    ? [`the response has ${String(bytes)} bytes; at most ${String(RESPONSE_MAX_BYTES)} are allowed`]
    : inputProblems(input, response);
};

const PROBLEMS_MAX = 50;

const invalid = (problems: readonly string[]): ErrorBody =>
  errorBody('APPROVALS_RESPONSE_INVALID', problems.join('; '), { problems: [...problems] });

/**
 * Error when the response does not match the question; undefined when it matches or when there is no
 * question.
 */
export const responseError = ({ input }: Question, reply: Reply): ErrorBody | undefined => {
  if (reply.decision !== 'respond' && reply.response !== undefined)
    return invalid(['only the decision `respond` takes a response']);
  const problems = input === undefined ? [] : problemsOf(input, responseOf(reply));
  return problems.length === 0 ? undefined : invalid(problems.slice(0, PROBLEMS_MAX));
};

/** Compares two JSON values by their canonical form. */
export const isSameJson = (one: unknown, other: unknown): boolean =>
  one === undefined || other === undefined ? one === other : canonicalJson(one) === canonicalJson(other);

export const shortResponse = (response: Json): string => {
  const text = JSON.stringify(response);
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX).toWellFormed()} …`;
};
