import { type ApproachWord, approachWords } from './approach-words.ts';
import { normalized } from './fingerprint.ts';

/**
 * Approaches at least this similar count as the same. Paraphrases reach it; different approaches to the same
 * goal in the same file do not.
 */
export const DEFAULT_SIMILARITY = 0.5;

/** Weight of a pair of neighbors: words count for more than their order. */
const PAIR_WEIGHT = 0.5;

const weightsOf = (found: readonly ApproachWord[]): ReadonlyMap<string, number> => {
  const pairs = found.slice(1).map(({ word, weight }, at): readonly [string, number] => {
    const before = found[at];
    return [[before?.word ?? '', word].sort().join(' '), PAIR_WEIGHT * Math.min(weight, before?.weight ?? 0)];
  });
  const weights = new Map<string, number>();
  for (const [key, weight] of [...found.map(({ word, weight: its }) => [word, its] as const), ...pairs])
    weights.set(key, Math.max(weight, weights.get(key) ?? 0));
  return weights;
};

const total = (weights: Iterable<number>): number => [...weights].reduce((sum, weight) => sum + weight, 0);

const meansIn = (found: readonly ApproachWord[]): ReadonlySet<string> =>
  new Set(found.filter(({ role }) => role === 'means').map(({ word }) => word));

/** The share of the named means that both approaches name. 1 when neither names any. */
const agreementOn = (a: readonly ApproachWord[], b: readonly ApproachWord[]): number => {
  const [ofA, ofB] = [meansIn(a), meansIn(b)];
  const missing = (means: ReadonlySet<string>, other: readonly ApproachWord[]): number => {
    const named = new Set(other.filter(({ role }) => role !== 'without').map(({ word }) => word));
    return [...means].filter((word) => !named.has(word)).length;
  };
  const all = ofA.size + ofB.size;
  return all === 0 ? 1 : 1 - (missing(ofA, b) + missing(ofB, a)) / all;
};

/**
 * Similarity of two approaches from 0 to 1: the Dice coefficient (twice the common weight, divided by the sum
 * of both weights) over the distinct words and neighboring pairs of both texts, each with its weight, times the
 * share of their means that agree. So the same sentence about another library is another approach.
 *
 * It compares words and not letters, because `add a cache` and `add a catch` differ. It uses Dice and not
 * Jaccard, because half of the words in common is much for two sentences about the same subject.
 */
export const similarity = (a: string, b: string): number => {
  if (a === b) return 1;
  const [inA, inB] = [approachWords(a), approachWords(b)];
  const [ofA, ofB] = [weightsOf(inA), weightsOf(inB)];
  const both = total(ofA.values()) + total(ofB.values());
  // Texts without words, such as two numbers, are equal if their normalized texts are.
  if (both === 0) return normalized(a).trim().toLowerCase() === normalized(b).trim().toLowerCase() ? 1 : 0;
  const common = total([...ofA].map(([key, weight]) => Math.min(weight, ofB.get(key) ?? 0)));
  return Math.min(1, (2 * common) / both) * agreementOn(inA, inB);
};
