import type { DeadLetterResolved, StoredDeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { WantedResolution } from '@holdpoint/runtime/bus/dead-letter-actions';
import { watchLetters } from '../invariants/dead-letters.ts';
import type { Node } from '../services/replica.ts';
import type { World } from '../world.ts';

type Nodes = Readonly<Record<ServiceName, readonly Pick<Node<never>, 'isUp' | 'settle'>[]>>;

const NEVER_LOOKS = 0.2;
const TWICE = 0.4;
const AFTERWARDS = 0.3;
const SOON_MS = 20_000;
const LATE = 0.3;
/** By then most tasks of the message have ended. */
const LATE_MS = 90_000;
const TRIES_MAX = 6;
const AGAIN_MS = 7_000;

/** The answer to an operator: the resolution, or the reason of the refusal. */
export type DeadLetterReply = DeadLetterResolved | { readonly refused: string };

/**
 * Operators who retry or drop dead letters: at once, on two replicas at the same time, repeatedly, late, or
 * never.
 */
export const startLetterKeepers = (world: World, cluster: Nodes): (() => void) => {
  const { timeline, choices, watchers } = world;
  const watched = watchLetters(world);

  const settle = (letter: StoredDeadLetter, wanted: WantedResolution, tries = 1): void => {
    const place = `${wanted.by} settles ${wanted.id}`;
    const up = cluster[letter.service].filter((node) => node.isUp());
    let heard = false;
    watched.asked(letter, wanted);
    if (up.length > 0)
      choices.pick(place, up).settle(wanted, (told) => {
        // A retry that fails now may succeed later; the operator repeats it.
        // So may a message that only another release can read.
        const isFinal = (code: string): boolean =>
          code.startsWith('CONTRACT_') && code !== 'CONTRACT_UNKNOWN_SUBJECT';
        heard = !('refused' in told) || isFinal(told.refused);
        watched.told(letter, told);
      });
    timeline.in(AGAIN_MS * tries, () => {
      if (!heard && tries < TRIES_MAX) settle(letter, wanted, tries + 1);
    });
  };

  watchers.lettered.push((letter, key) => {
    const place = `letter ${key}`;
    if (choices.happens(`nobody ${place}`, NEVER_LOOKS)) return;
    const { id } = letter;
    const wanted = (who: string): WantedResolution => ({
      id,
      action: choices.pick(`${who} ${place}`, ['retry', 'retry', 'drop']),
      by: who,
    });
    const late = choices.happens(`late ${place}`, LATE) ? LATE_MS : SOON_MS;
    const when = choices.between(`when ${place}`, 0, late);
    timeline.in(when, () => settle(letter, wanted('ada')));
    if (choices.happens(`two ${place}`, TWICE))
      timeline.in(when + choices.between(`two ${place}`, -5, 5), () => settle(letter, wanted('linus')));
    if (choices.happens(`afterwards ${place}`, AFTERWARDS))
      timeline.in(when + choices.between(`afterwards ${place}`, 0, SOON_MS), () =>
        settle(letter, wanted('grace')),
      );
  });
  return watched.check;
};
