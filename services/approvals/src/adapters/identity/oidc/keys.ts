import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { ConfigError, readSecretFile } from '@holdpoint/runtime/service/config';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import { followFile } from '@holdpoint/runtime/service/follow-file';
import type { Logger } from '@holdpoint/runtime/observability/log';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type FetchImplementation,
  errors,
  type JWTVerifyGetKey,
} from 'jose';
import { z } from 'zod';
import { boundedText } from './bounded-text.ts';

const TIMEOUT_MS = 5_000;
/** Interval of requests for unknown keys, so that made-up key names cause no load. */
const COOL_DOWN_MS = 10_000;
/** Keys are fetched again after this, so that a revoked key stops working. */
const MAX_AGE_MS = 600_000;
/** No request is sent this long after a failure. */
const AFTER_FAILURE_MS = 2_000;
const JWKS_MAX_BYTES = 262_144;

export type OidcKeys = { readonly keyOf: JWTVerifyGetKey; readonly stop: () => Promise<void> };

const unavailable = (cause?: unknown): HoldpointError =>
  new HoldpointError('RUNTIME_UNAVAILABLE', 'the keys of the OIDC issuer are unavailable; try again', {
    cause,
  });

const Jwks = z.looseObject({
  keys: z
    .array(z.looseObject({ kty: z.string() }))
    .min(1)
    .max(100),
});

/**
 * Undefined for an invalid key set. The error is not passed on: it could quote secret content of the file.
 */
const keysIn = (text: string): JWTVerifyGetKey | undefined => {
  try {
    return createLocalJWKSet(Jwks.parse(JSON.parse(text)));
  } catch {
    return undefined;
  }
};

/** Throws `ConfigError`. */
const parseJwks = (text: string): JWTVerifyGetKey => {
  const keys = keysIn(text);
  if (keys === undefined) throw new ConfigError('HOLDPOINT_OIDC_JWKS: the file contains no JSON Web Key Set');
  return keys;
};

/** Separates a wrong token from keys that are unavailable. */
const fetchKeys = (log: Logger, now: () => number): FetchImplementation => {
  let failedAt = -Infinity;
  return async (url, options) => {
    if (now() - failedAt < AFTER_FAILURE_MS) throw unavailable();
    try {
      const response = await fetch(url, options);
      if (response.status !== 200) throw new Error(`the issuer answered ${String(response.status)}`);
      const text = await boundedText(response, JWKS_MAX_BYTES);
      if (keysIn(text) === undefined) throw new Error('the issuer returned no JSON Web Key Set');
      return new Response(text);
    } catch (cause) {
      failedAt = now();
      log.warn(errorFields(cause), 'the keys of the OIDC issuer are unavailable');
      throw unavailable(cause);
    }
  };
};

/** Reports a fault of the keys as unavailable, not as a wrong token. */
const blamingKeys =
  (keyOf: JWTVerifyGetKey): JWTVerifyGetKey =>
  async (header, token) => {
    try {
      return await keyOf(header, token);
    } catch (error) {
      const ofToken =
        error instanceof HoldpointError ||
        error instanceof errors.JWKSNoMatchingKey ||
        error instanceof errors.JWKSMultipleMatchingKeys ||
        error instanceof errors.JOSENotSupported;
      throw ofToken ? error : unavailable(error);
    }
  };

const isPath = (jwks: string): boolean => jwks.startsWith('/');

const readJwks = (path: string): JWTVerifyGetKey => parseJwks(readSecretFile('HOLDPOINT_OIDC_JWKS', path));

/** Throws `ConfigError` when `jwks` is a file without keys. */
export const checkJwks = (jwks: string): void => {
  if (isPath(jwks)) readJwks(jwks);
};

/** The public keys of an issuer, by URL or from a file. Throws `ConfigError` when the file has no keys. */
export const createOidcKeys = (
  jwks: string,
  log: Logger,
  now: () => number = () => performance.now(),
): OidcKeys => {
  if (!isPath(jwks)) {
    const remote = createRemoteJWKSet(new URL(jwks), {
      timeoutDuration: TIMEOUT_MS,
      cooldownDuration: COOL_DOWN_MS,
      cacheMaxAge: MAX_AGE_MS,
      [customFetch]: fetchKeys(log, now),
    });
    return { keyOf: blamingKeys(remote), stop: () => Promise.resolve() };
  }
  const named = { name: 'HOLDPOINT_OIDC_JWKS', path: jwks, parse: parseJwks };
  const file = followFile(named, readJwks(jwks), log);
  return {
    keyOf: blamingKeys((header, token) => file.current()(header, token)),
    stop: file.stop,
  };
};
