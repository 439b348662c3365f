import { nearestName } from '../../problems/problem.ts';
import { fail, quoted } from './expression-error.ts';

const LISTED_MAX = 40;

const listed = (names: readonly string[]): string =>
  names.length > LISTED_MAX ? `${names.slice(0, LISTED_MAX).join(', ')}, …` : names.join(', ');

/** Says that a name stands for nothing, and what it could have been. */
export const unknown = (what: string, name: string, known: Iterable<string>): never => {
  const names = [...known].sort();
  const nearest = nearestName(name, names);
  return fail(
    `there is no ${what} ${quoted(name)}: ${nearest === undefined ? `there are ${listed(names)}` : `did you mean ${quoted(nearest)}?`}`,
  );
};
