import type { Expression } from './tree.ts';

const partsOf = (expression: Expression): readonly (Expression | undefined)[] => {
  switch (expression.kind) {
    case 'value':
    case 'name':
      return [];
    case 'list':
      return expression.items;
    case 'record':
      return expression.entries.flat();
    case 'member':
      return [expression.of, expression.key];
    case 'slice':
      return [expression.of, expression.start, expression.stop, expression.step];
    case 'not':
    case 'sign':
    case 'test':
      return [expression.of];
    case 'and':
    case 'or':
    case 'binary':
      return [expression.left, expression.right];
    case 'choice':
      return [expression.condition, expression.yes, expression.no];
    case 'filter':
    case 'method':
      return [expression.of, ...expression.args];
  }
};

/** The names that an expression reads from its scope. */
export const namesOf = (expression: Expression): ReadonlySet<string> => {
  const names = new Set<string>();
  const open: (Expression | undefined)[] = [expression];
  for (const part of open) {
    if (part === undefined) continue;
    if (part.kind === 'name') names.add(part.name);
    open.push(...partsOf(part));
  }
  return names;
};
