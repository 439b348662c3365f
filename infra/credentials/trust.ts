import { type SealingService, sealingServices } from './layout.ts';

/** Content of the trust file: public keys of the services, SPKI in PEM. */
export type Trust = Readonly<Record<SealingService | 'retired', readonly string[]>>;

export const trustOf = (keys: Readonly<Record<SealingService, string>>): Trust => ({
  approvals: [keys.approvals],
  orchestrator: [keys.orchestrator],
  recovery: [keys.recovery],
  retired: [],
});

export const trustText = (trust: Trust): string => `${JSON.stringify(trust, null, 2)}\n`;

const pemsIn = (content: object, name: string): readonly string[] => {
  const pems: unknown = Object.entries(content).find(([key]) => key === name)?.[1] ?? [];
  if (!Array.isArray(pems) || !pems.every((pem) => typeof pem === 'string'))
    throw new Error(`trust.json: ${name} is not a list of public keys`);
  return pems;
};

/** Throws when the text is no trust file. */
export const parseTrust = (text: string): Trust => {
  const content: unknown = JSON.parse(text);
  if (typeof content !== 'object' || content === null) throw new Error('trust.json: not an object');
  const [approvals = [], orchestrator = [], recovery = []] = sealingServices.map((name) =>
    pemsIn(content, name),
  );
  return { approvals, orchestrator, recovery, retired: pemsIn(content, 'retired') };
};
