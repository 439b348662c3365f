import { ASKS, policyOf, questionOf } from '@holdpoint/contracts/approval/question';
import { matches } from '@holdpoint/contracts/approval/standing-rule';
import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import { isSamePerson, isUnverified } from '@holdpoint/contracts/values/person';
import { mayDecide } from '@holdpoint/contracts/workflow/audience';
import { allowedChoices, responseError } from './response.ts';
import type { ApprovalMessage, Pending, Principal } from './state.ts';

export type DecideMessage = Extract<ApprovalMessage, { kind: 'decide' }>;

/** Error when this person may not decide on the request at all. */
export const entitlementError = ({ request, audience }: Pending, by: Principal): ErrorBody | undefined => {
  if (!mayDecide({ audience, floor: request.floor }, by)) {
    const demanded = (request.floor?.within ?? []).map((names) => `, and of ${names.join(', ')}`);
    const text = `${by.name} may not decide; the audience is: ${audience.join(', ')}${demanded.join('')}`;
    return errorBody('APPROVALS_NOT_ENTITLED', text);
  }
  // The agent or its owner may have asked under any name.
  if (by.agent !== undefined && isUnverified(request.requestedBy))
    return errorBody(
      'APPROVALS_FOUR_EYES',
      `the requester is unverified, so ${by.agent} may have asked: a person has to decide`,
    );
  const isOwn = isSamePerson(request.requestedBy, by.name);
  // An agent never decides on a request that it, or another agent of the same person, made. No policy changes
  // that.
  if (isOwn && by.agent !== undefined)
    return errorBody(
      'APPROVALS_FOUR_EYES',
      `${by.agent} acts for ${by.name}, the requester: a person has to decide`,
    );
  return isOwn && policyOf(request).fourEyes
    ? errorBody('APPROVALS_FOUR_EYES', `${by.name} is the requester: another person has to decide`)
    : undefined;
};

/** Error when the choice is invalid for the request, or the token lacks the scope for it. */
export const choiceError = (
  { request }: Pending,
  { payload, by: { scopes, agent }, isOneOfMany = false }: DecideMessage,
): ErrorBody | undefined => {
  const { id, decision: choice, digest, remember } = payload;
  const choices = allowedChoices(request, isOneOfMany);
  if (!choices.includes(choice))
    return errorBody(
      'APPROVALS_NO_CHOICE',
      `${id} asks ${ASKS[questionOf(request)]}: ${choices.join(', ')}`,
      {
        choices: [...choices],
      },
    );
  if (digest !== undefined && digest !== request.digest)
    return errorBody('APPROVALS_DIGEST_MISMATCH', 'the effect differs from the one that was shown');
  if (remember === undefined) return responseError(request, payload);
  if (agent !== undefined || scopes?.includes('rules:write') === false)
    return errorBody('APPROVALS_SCOPE', 'the token lacks scope rules:write');
  return choice === 'approve' && matches(remember.match, request)
    ? responseError(request, payload)
    : errorBody('APPROVALS_RULE_REFUSED', 'the rule does not match the request it is created from');
};
