import { SECRET_CHARACTERS_MIN, secretForms } from './secret-forms.ts';

/** The shapes of our own secrets: access tokens and seeds of bus users. */
const TOKENS = /hpt_[A-Za-z0-9_-]{8,}|\bS[UAONCX][A-Z2-7]{56}\b/g;
export const HIDDEN = '[hidden]';

/** All encodings in which a secret of the executor is searched. */
export const ownForms = (secrets: readonly string[]): readonly string[] =>
  secrets
    .map((secret) => secret.trim())
    .filter(({ length }) => length >= SECRET_CHARACTERS_MIN)
    .flatMap(secretForms);

export const hideForms = (forms: readonly string[], text: string): string =>
  forms.reduce((left, form) => left.replaceAll(form, HIDDEN), text).replaceAll(TOKENS, HIDDEN);

/**
 * Redacts secrets of the executor. Commands get none of them, but run as the same user and can read its files: so
 * the known secrets are searched as well.
 */
export const createRedaction = (secrets: readonly string[]): ((text: string) => string) => {
  const known = ownForms(secrets);
  return (text) => hideForms(known, text);
};
