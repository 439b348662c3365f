import { claimingText } from '@holdpoint/contracts/approval/facts-text';
import type { ClaimantView } from '@holdpoint/contracts/effect/remote';
import type { EffectView } from '@holdpoint/contracts/effect/views';
import { remoteNameIn } from '@holdpoint/contracts/effect/remote-name';
import type { Word } from '../tasks/labels.ts';

/** The programs that claim effects of a capability now. */
export const claimantsOf = (name: string, claimants: readonly ClaimantView[]): readonly ClaimantView[] =>
  claimants.filter(
    ({ uses, isWaiting, holds }) =>
      (isWaiting || holds.length > 0) && uses.some((label) => remoteNameIn(label) === name),
  );

/** The state of a claimant, in the words of the command line. */
export const claimantWord = (claimant: Pick<ClaimantView, 'isWaiting' | 'holds'>): Word => {
  const text = claimingText(claimant);
  const tone = claimant.holds.length > 0 ? 'busy' : claimant.isWaiting ? 'good' : 'warn';
  return [`${text.charAt(0).toUpperCase()}${text.slice(1)}`, tone];
};

const STATES: Readonly<Record<string, Word>> = {
  prepared: ['Waits for a program', 'warn'],
  started: ['Running', 'busy'],
  applied: ['Applied', 'good'],
  failed_clean: ['Failed, nothing happened', 'bad'],
  in_doubt: ['Unknown outcome', 'warn'],
  not_applied: ['Did not happen', 'quiet'],
  refused: ['Refused', 'bad'],
  cancelled: ['Cancelled', 'quiet'],
};

/** The state of an effect that a program carries out. */
export const remoteStateWord = (state: string): Word =>
  STATES[state] ?? [state.replaceAll('_', ' '), 'quiet'];

/** What the claimant of the latest start did. */
export const holderLabel = (state: string): string =>
  state === 'started' ? 'Held by' : state === 'applied' ? 'Carried out by' : 'Last held by';

const NEXT: Readonly<Record<NonNullable<EffectView['next']>, string>> = {
  repeat: 'Another program claims it again.',
  probe: 'A program looks whether it happened.',
  person: 'A person says whether it happened.',
};

/** The next step of an effect whose program went silent. */
export const nextText = ({ state, next }: Pick<EffectView, 'state' | 'next'>): string | undefined =>
  state === 'in_doubt' && next !== undefined ? NEXT[next] : undefined;
