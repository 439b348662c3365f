/** What secrets of ours look like: tokens of people, seeds of bus users. */
const TOKENS = /hpt_[A-Za-z0-9_-]{8,}|\bS[UAONCX][A-Z2-7]{56}\b/g;
/** Shorter ones would take ordinary words along. */
const SECRET_CHARACTERS_MIN = 8;
const HIDDEN = '[hidden]';

/**
 * Takes secrets out of what is shown. Commands are given none, but they run as the executor's own user and can read what it
 * can: so those that it was started with are looked for by themselves.
 */
export const createRedaction = (secrets: readonly string[]): ((text: string) => string) => {
  const known = secrets
    .map((secret) => secret.trim())
    .filter(({ length }) => length >= SECRET_CHARACTERS_MIN);
  return (text) =>
    known.reduce((left, secret) => left.replaceAll(secret, HIDDEN), text).replaceAll(TOKENS, HIDDEN);
};
