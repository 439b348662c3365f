import type { Choice, DecideApproval, RequestApproval } from '@holdpoint/contracts/approval/commands';
import { choicesOf } from '@holdpoint/contracts/approval/question';
import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import { inputProblems } from '@holdpoint/contracts/workflow/input';
import { canonicalJson, type Json } from '@holdpoint/contracts/values/json';

// What a program asks for is answered with a response. One that does not fit decides nothing.

type Question = Pick<RequestApproval, 'policy' | 'doubt' | 'stuck' | 'input'>;
type Reply = Pick<DecideApproval, 'decision' | 'response'>;

/** Of a response, as JSON: it is told in one message, and shown in one with all of its request. */
export const RESPONSE_MAX_BYTES = 262_144;
/** Of a response, where it is only mentioned. */
const SHOWN_MAX = 200;

/**
 * What can be said of a request. Where yes or no is asked for, the words for an effect say it too, so that whatever has buttons
 * for these can be used; one by one, since several at once are decided alike only when they are effects.
 */
export const allowedChoices = (request: Question, isOneOfMany: boolean): readonly Choice[] => {
  const choices = choicesOf(request);
  return request.input?.kind === 'approval' && !isOneOfMany ? [...choices, 'approve', 'reject'] : choices;
};

/** The response that is in what was said; undefined when there is none. */
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
  if (response === undefined) return ['a response is needed'];
  const bytes = Buffer.byteLength(JSON.stringify(response));
  return bytes > RESPONSE_MAX_BYTES
    ? [`it has ${String(bytes)} bytes, at most ${String(RESPONSE_MAX_BYTES)} are taken`]
    : inputProblems(input, response);
};

const PROBLEMS_MAX = 50;

const invalid = (problems: readonly string[]): ErrorBody =>
  errorBody('APPROVALS_RESPONSE_INVALID', problems.join('; '), { problems: [...problems] });

/** Why the response is none to what was asked for; undefined when it is, and where none is asked for or given. */
export const responseError = ({ input }: Question, said: Reply): ErrorBody | undefined => {
  if (said.decision !== 'respond' && said.response !== undefined)
    return invalid(['a response goes with respond, and with nothing else']);
  const problems = input === undefined ? [] : problemsOf(input, responseOf(said));
  return problems.length === 0 ? undefined : invalid(problems.slice(0, PROBLEMS_MAX));
};

/** Whether two responses, or two things that are asked for, are the same. */
export const isSameJson = (one: unknown, other: unknown): boolean =>
  one === undefined || other === undefined ? one === other : canonicalJson(one) === canonicalJson(other);

/** A response in a few words, for whoever is told that there is one already. */
export const shortResponse = (response: Json): string => {
  const text = JSON.stringify(response);
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX).toWellFormed()} …`;
};
