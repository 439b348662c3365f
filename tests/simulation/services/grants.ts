import type { AuditClaims } from '@holdpoint/contracts/audit/audit';
import { SignedClaims } from '@holdpoint/contracts/effect/grant';
import { sha256Of } from '@holdpoint/contracts/values/json';

// Real signatures have their own tests and would dominate the run time.
const seal = (text: string): string =>
  sha256Of(`the approvals service alone can say this: ${text}`).slice(0, 16);

export const signGrant = (claims: SignedClaims | AuditClaims): string => {
  const text = Buffer.from(JSON.stringify(claims)).toString('base64url');
  return `${text}.${seal(text)}`;
};

export const verifyGrant = (token: string): SignedClaims | undefined => {
  const [text = '', mark] = token.split('.');
  if (mark !== seal(text)) return undefined;
  return SignedClaims.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))).data;
};
