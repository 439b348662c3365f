import { hideIn } from './hide-stream.ts';
import { createMatcher, type Matcher, SECRET_CHARACTERS_MIN, textsOf } from './matcher.ts';

/** The shapes of our own secrets: access tokens and seeds of bus users. */
const TOKENS = /hpt_[A-Za-z0-9_-]{8,}|\bS[UAONCX][A-Z2-7]{56}\b/g;
export const HIDDEN = '[hidden]';

/** Finds secrets in all their encodings. */
export const matcherFor = (secrets: readonly string[]): Matcher =>
  createMatcher(
    secrets
      .map((secret) => secret.trim())
      .filter(({ length }) => length >= SECRET_CHARACTERS_MIN)
      .flatMap(textsOf),
  );

export const hideSecrets = (matcher: Matcher, text: string): string =>
  hideIn(matcher, text).replaceAll(TOKENS, HIDDEN);

/** Redacts secrets of the executor. */
export const createRedaction = (secrets: readonly string[]): ((text: string) => string) => {
  const matcher = matcherFor(secrets);
  return (text) => hideSecrets(matcher, text);
};
