import { SECRET_CHARACTERS_MIN, secretForms } from './secret-forms.ts';

/** What secrets of ours look like: tokens of people, seeds of bus users. */
const TOKENS = /hpt_[A-Za-z0-9_-]{8,}|\bS[UAONCX][A-Z2-7]{56}\b/g;
export const HIDDEN = '[hidden]';

/** Everything that a secret of the executor's own is looked for as. */
export const ownForms = (secrets: readonly string[]): readonly string[] =>
  secrets
    .map((secret) => secret.trim())
    .filter(({ length }) => length >= SECRET_CHARACTERS_MIN)
    .flatMap(secretForms);

export const hideForms = (forms: readonly string[], text: string): string =>
  forms.reduce((left, form) => left.replaceAll(form, HIDDEN), text).replaceAll(TOKENS, HIDDEN);

/**
 * Takes secrets out of what is shown. Commands are given none of the executor's, but they run as its own user and can read what
 * it can: so those that it was started with are looked for by themselves.
 */
export const createRedaction = (secrets: readonly string[]): ((text: string) => string) => {
  const known = ownForms(secrets);
  return (text) => hideForms(known, text);
};
