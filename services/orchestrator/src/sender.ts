import { COMMAND_SCOPES, IDENTITY_HEADER, type PeopleCommand } from '@holdpoint/contracts/approval/identity';
import { unverifiedName } from '@holdpoint/contracts/values/person';
import type { VerifyIdentity } from '@holdpoint/runtime/service/identity';
import type { Sender } from './task/model/sender.ts';

/** Verifies no identity: for a service without keys, every sender is unverified. */
export const NO_IDENTITIES: SenderOf = () => ({ kind: 'unverified' });

type Headers = (name: string) => string | undefined;

/** The sender of a command by its headers, when it arrived. Throws `HoldpointError`. */
export type SenderOf = (command: PeopleCommand, header: Headers, at: number) => Sender;

export const createSenders =
  (verifyIdentity: VerifyIdentity): SenderOf =>
  (command, header, at) => {
    const assertion = header(IDENTITY_HEADER);
    if (assertion === undefined) return { kind: 'unverified' };
    const { sub: name, groups, roles, agent } = verifyIdentity(assertion, COMMAND_SCOPES[command], at);
    return { kind: 'person', name, groups, roles, ...(agent !== undefined && { agent }) };
  };

/** The name for the record. The name in a payload counts only from the services themselves. */
export const nameOf = (sender: Sender, given: string | undefined): string => {
  if (sender.kind === 'person') return sender.name;
  return sender.kind === 'service' ? (given ?? 'unknown') : unverifiedName(given);
};

type Named = {
  readonly requestedBy?: string | undefined;
  readonly by?: string | undefined;
  readonly agent?: string | undefined;
};

/** The payload with the name of its sender in this field. */
export const named = <Payload extends Named>(
  payload: Payload,
  field: 'requestedBy' | 'by',
  sender: Sender,
): Payload => ({
  ...payload,
  [field]: nameOf(sender, payload[field]),
  ...(sender.kind === 'person' && sender.agent !== undefined && { agent: sender.agent }),
});
