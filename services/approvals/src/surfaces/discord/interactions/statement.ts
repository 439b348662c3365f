import type { DecideApproval, RequestApproval } from '@holdpoint/contracts/approval/commands';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { type Answer, commentForm, form } from './responses.ts';
import { type CustomId, customId, type Press, type PressName } from '../messages/custom-id.ts';
import { formTextsOf, responseFromTexts } from '../messages/input-form.ts';
import { COMMENT } from './interaction.ts';
import { suggestedRule } from '../messages/suggested-rule.ts';

type PressOf<Does extends Press['does']> = Extract<Press, { does: Does }>;
/** Presses that open a form. */
type Opens = PressOf<'ask' | 'open'>;

/** The part of a decision that a press contains. */
export type Statement = Pick<DecideApproval, 'decision' | 'response' | 'comment' | 'remember'>;

export const foreignButton = (): HoldpointError =>
  new HoldpointError('APPROVALS_TOKEN_MISMATCH', 'the button belongs to no approval, or was altered');

/** Whether the interaction submits a form. */
export const isFormSubmission = ({ does }: Press): boolean => does === 'say' || does === 'fill';

const FORMS = {
  reject: { press: 'no!', title: 'Reject with a reason', label: 'Why?' },
  request_changes: { press: 'chg!', title: 'Request changes', label: 'What should be different?' },
} as const;

/** The form that a button opens. */
export const formFor = (
  { press, id, token }: Omit<CustomId, 'press'> & { readonly press: Opens },
  { digest, input }: RequestApproval,
): Answer => {
  const named = (name: PressName): string => {
    const text = customId(name, { id, digest, token });
    // It is no longer than the id of the button that opened the form.
    if (text === undefined) throw new Error('the id of a form is too long');
    return text;
  };
  if (press.does === 'ask') {
    const { press: name, title, label } = FORMS[press.choice];
    return commentForm(named(name), title, label);
  }
  const texts = input && formTextsOf(input);
  if (texts === undefined) throw foreignButton();
  return form(named('in!'), 'What a program asks for', texts);
};

const ruleFor = (request: RequestApproval) => {
  const rule = suggestedRule(request);
  if (rule === undefined)
    throw new HoldpointError('APPROVALS_RULE_REFUSED', 'standing rules cannot approve this kind of effect');
  return rule;
};

/** The decision that a button or a submitted form makes. */
export const statementOf = (
  press: Exclude<Press, Opens>,
  request: RequestApproval,
  texts: ReadonlyMap<string, string>,
): Statement => {
  const { input } = request;
  switch (press.does) {
    case 'decide':
      return { decision: press.choice, ...(press.remember && { remember: ruleFor(request) }) };
    case 'say': {
      const comment = texts.get(COMMENT)?.trim() ?? '';
      if (comment === '') throw new HoldpointError('CONTRACT_INVALID', 'the text is empty');
      return { decision: press.choice, comment };
    }
    case 'pick': {
      const option = input?.kind === 'choice' ? input.options[press.option] : undefined;
      if (option === undefined) throw foreignButton();
      return { decision: 'respond', response: option.value };
    }
    case 'fill':
      if (input === undefined) throw foreignButton();
      return { decision: 'respond', response: responseFromTexts(input, texts) };
  }
};
