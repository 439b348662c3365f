import { failUnknown, withExpression } from '../operations/expression-error.ts';
import { namesOf } from '../syntax/names.ts';
import type { Body, SourceExpression } from './tree.ts';

type Names = ReadonlySet<string>;

const check = ({ text, tree }: SourceExpression, names: Names): void => {
  for (const name of namesOf(tree))
    if (!names.has(name)) withExpression(text, () => failUnknown('name', name, names));
};

/** The names that all of these sets contain. */
const inAll = ([first = new Set<string>(), ...others]: readonly Names[]): Names =>
  new Set([...first].filter((name) => others.every((names) => names.has(name))));

/**
 * Checks that every name is known where it is used. Returns the names known after the body, including those
 * that every branch sets. Names set inside a loop stay in the loop.
 */
export const checkBody = (body: Body, above: Names): Names => {
  let names = above;
  for (const statement of body) {
    switch (statement.kind) {
      case 'text':
        break;
      case 'output':
        check(statement.of, names);
        break;
      case 'set':
        check(statement.value, names);
        names = new Set([...names, statement.name]);
        break;
      case 'capture':
        names = new Set([...checkBody(statement.body, names), statement.name]);
        break;
      case 'if': {
        const ends: Names[] = [];
        for (const { when, body: inner } of statement.branches) {
          check(when, names);
          ends.push(checkBody(inner, names));
        }
        ends.push(checkBody(statement.otherwise ?? [], names));
        names = inAll(ends);
        break;
      }
      case 'for': {
        check(statement.of, names);
        const inner = new Set([...names, ...statement.names]);
        if (statement.only !== undefined) check(statement.only, inner);
        checkBody(statement.body, inner.add('loop'));
        checkBody(statement.otherwise ?? [], names);
        break;
      }
    }
  }
  return names;
};
