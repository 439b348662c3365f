import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { GrantClaims } from '@holdpoint/contracts/effect/grant';
import { createSigner, createVerifier } from '@holdpoint/runtime/service/jws';
import fc from 'fast-check';
import { bodyFor } from '../hostile/body.ts';
import { nastyText } from '../hostile/strings.ts';
import { target } from '../target.ts';
import { type Bytes, bytesOf, type Text, textOf } from '../text.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const verify = createVerifier([publicKey]);
const sign = createSigner(privateKey);

const CLAIMS = { jti: 'a-1', sub: 'e-1', digest: 'f'.repeat(64), iat: 1, exp: 2, by: 'ada' };
// The key differs in each run, so the corpus stores changes of a token.
type Part = { readonly own: true } | Text | { readonly encoded: Bytes };
type Input = { readonly parts: readonly Part[]; readonly change?: number | 'respelt' | 'padded' | undefined };

const partOf = (part: Part, own: string): string => {
  if (typeof part === 'object' && 'own' in part) return own;
  if (typeof part === 'object' && 'encoded' in part)
    return Buffer.from(bytesOf(part.encoded)).toString('base64url');
  return textOf(part);
};

/** One changed bit of one character, or the same bytes in another spelling. */
const changed = (token: string, change: Input['change']): string => {
  if (change === undefined || token === '') return token;
  if (change === 'padded') return `${token}==`;
  const place = change === 'respelt' ? token.length - 1 : change % token.length;
  const code = token.charCodeAt(place);
  // The last character of a signature carries two bits; its other four are ignored.
  const other = change === 'respelt' ? code + 1 : code ^ 1;
  return token.slice(0, place) + String.fromCharCode(other) + token.slice(place + 1);
};

const header = fc.constant({ alg: 'EdDSA', kid: 'x' });
const part: fc.Arbitrary<Part> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Part>({ own: true }) },
  { weight: 1, arbitrary: nastyText },
  { weight: 1, arbitrary: bodyFor(header).map((encoded): Part => ({ encoded })) },
  fc.constantFrom<Part>({ encoded: ['{"alg":"none"}'] }, { encoded: ['{"alg":"EdDSA"}'] }, ''),
);

/** Only unchanged tokens with our signature are grants. */
export const grants = target<Input>({
  name: 'grants',
  runs: 300,
  reaches: ['accepted', 'refused'],
  cases: {
    tokens: fc.record(
      {
        parts: fc.oneof(fc.tuple(part, part, part), fc.array(part, { maxLength: 5 })),
        change: fc.option(fc.oneof(fc.nat(600), fc.constantFrom('respelt', 'padded')), { nil: undefined }),
      },
      { requiredKeys: ['parts'] },
    ),
  },
  check: ({ parts, change }) => {
    const own = sign(CLAIMS);
    const pieces = own.split('.');
    const token = changed(parts.map((each, i) => partOf(each, pieces[i] ?? '')).join('.'), change);
    const claims = verify(token);
    if (token === own) assert.deepEqual(GrantClaims.parse(claims), CLAIMS);
    else assert.equal(claims, undefined);
    return claims === undefined ? 'refused' : 'accepted';
  },
});
