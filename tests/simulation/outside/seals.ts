import { createSecretKey, hash, type KeyObject } from 'node:crypto';
import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { readSeal, sealAll, sealedText } from '@holdpoint/contracts/bus/seal';
import { type ServiceName, SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { WireMessage } from '@holdpoint/runtime/engine/ports';
import { createSeals, type SealKeys, type Seals, type SealSigner } from '@holdpoint/runtime/engine/seals';

/** A keyed hash instead of a signature: as long, as hard to guess for the adversary, and far cheaper. */
const signatureBy = (key: KeyObject, text: Uint8Array): Buffer =>
  hash('sha512', Buffer.concat([key.export(), text]), 'buffer');

export type SealBook = {
  readonly of: (service: ServiceName) => Seals;
  /** A message under the seal of a service, as an adversary sends it who broke into that service. */
  readonly sealedBy: (service: ServiceName, id: string, subject: string, body: string) => WireMessage;
  /** From now on the key of this service is another one, and others know the old key as retired. */
  readonly rotate: (service: ServiceName) => void;
  /** Whether this seal names a retired key: readers ignore its message, and the sender answers again. */
  readonly isRetired: (seal: string | undefined) => boolean;
  /** How often a reader met a key before it knew it. */
  readonly deferred: () => number;
};

/** The keys of all services. A reader learns a new key only after it was asked for it `unknownFor` times. */
export const createSealBook = (): SealBook => {
  const keys = new Map<string, { readonly role: ServiceName; readonly key: KeyObject }>();
  const current = new Map<ServiceName, SealSigner>();
  const retired = new Set<string>();
  const known = new Map<ServiceName, Set<string>>();
  let made = 0;
  let deferrals = 0;

  const make = (role: ServiceName): void => {
    made += 1;
    const kid = `${role}-${String(made)}`;
    const key = createSecretKey(Buffer.from(`secret of ${kid}`));
    keys.set(kid, { role, key });
    current.set(role, { kid, sign: (text) => signatureBy(key, text) });
  };
  for (const service of SERVICES) make(service);
  const first = new Set(keys.keys());

  const signerOf = (service: ServiceName): SealSigner => {
    const signer = current.get(service);
    if (signer === undefined) throw new Error(`${service} has no key`);
    return signer;
  };

  const keysFor = (reader: ServiceName): SealKeys => {
    const learnt = known.get(reader) ?? new Set(first);
    known.set(reader, learnt);
    return {
      sealKey: (kid) => {
        if (retired.has(kid)) return 'retired';
        return learnt.has(kid) ? (keys.get(kid) ?? 'unknown') : 'unknown';
      },
      mayLearn: (kid) => {
        // The answer of the approvals service arrives before the message comes again.
        if (!keys.has(kid)) return false;
        deferrals += 1;
        learnt.add(kid);
        return true;
      },
    };
  };

  const all = new Map<ServiceName, Seals>();
  for (const service of SERVICES)
    all.set(
      service,
      createSeals(
        () => signerOf(service),
        keysFor(service),
        ({ size, signature }, root, { key }) =>
          signatureBy(key, sealedText(size, root)).equals(Buffer.from(signature)),
      ),
    );

  return {
    sealedBy: (service, id, subject, body) => {
      const { kid, sign } = signerOf(service);
      const [seal = ''] = sealAll([{ subject, id, body }], kid, sign);
      return {
        subject,
        body,
        headers: [
          [HEADERS.id, id],
          [HEADERS.seal, seal],
        ],
      };
    },
    of: (service) => {
      const seals = all.get(service);
      if (seals === undefined) throw new Error(`${service} has no seals`);
      return seals;
    },
    rotate: (service) => {
      retired.add(signerOf(service).kid);
      make(service);
    },
    isRetired: (seal) => retired.has(readSeal(seal ?? '')?.kid ?? ''),
    deferred: () => deferrals,
  };
};
