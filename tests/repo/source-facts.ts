import { parseSync, type Expression, Visitor } from 'oxc-parser';

/** Something that a source file does, as the rules see it, with the line where it does it. */
export type Use = { readonly what: string; readonly line: number };
/** The specifier of a dynamic import whose target is worked out when it runs. */
export const COMPUTED = '(computed)';
export type Import = { readonly specifier: string; readonly line: number };

export type SourceFacts = {
  /** From the root of the repository, with forward slashes. */
  readonly path: string;
  readonly imports: readonly Import[];
  /**
   * Member accesses as `receiver.name` (`process.env`, `msg.ack`, `(…).ack`), calls of plain functions as `name()`,
   * constructions as `new Name(<number of arguments>)`, and `await`.
   */
  readonly uses: readonly Use[];
  /** Titles of tests that really run: not skipped, not to be done, not conditional. */
  readonly tests: readonly string[];
};

const textOf = (node: Expression): string | undefined => {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value;
  const plain = node.type === 'TemplateLiteral' && node.expressions.length === 0;
  return plain ? (node.quasis[0]?.value.cooked ?? undefined) : undefined;
};

/** `a.b.c` for a chain of names, `(…)` for anything else that has members. */
const nameOf = (node: Expression): string => {
  switch (node.type) {
    case 'Identifier':
      return node.name;
    case 'ThisExpression':
      return 'this';
    case 'ChainExpression':
    case 'ParenthesizedExpression':
    case 'TSNonNullExpression':
      return nameOf(node.expression);
    case 'MemberExpression':
      if (node.property.type === 'PrivateIdentifier') return '(…)';
      return node.computed
        ? `${nameOf(node.object)}.${textOf(node.property) ?? '(…)'}`
        : `${nameOf(node.object)}.${node.property.type === 'Identifier' ? node.property.name : '(…)'}`;
    default:
      return '(…)';
  }
};

/** `test`, `it` and what always runs of their variants: `test.each(…)`, `test.for(…)`, `test.concurrent`. */
const runsTest = (callee: Expression): boolean => {
  if (callee.type === 'CallExpression')
    return /^(test|it)(\.concurrent)?\.(each|for)$/.test(nameOf(callee.callee));
  return /^(test|it)(\.(concurrent|sequential|prop))?$/.test(nameOf(callee));
};

const lineCounter = (source: string): ((offset: number) => number) => {
  const starts = [...source.matchAll(/\n/g)].map((match) => match.index + 1);
  return (offset) => 1 + starts.filter((start) => start <= offset).length;
};

/** Reads what the rules need from one file. Throws when it cannot be parsed: a file that nobody can read passes no check. */
export const factsOf = (path: string, source: string): SourceFacts => {
  const { program, errors } = parseSync(path, source);
  if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`);
  const lineAt = lineCounter(source);
  const imports: Import[] = [];
  const uses: Use[] = [];
  const tests: string[] = [];
  const imported = (from: Expression | null, at: number): void => {
    if (from !== null) imports.push({ specifier: textOf(from) ?? COMPUTED, line: lineAt(at) });
  };
  const used = (what: string, at: number): void => void uses.push({ what, line: lineAt(at) });
  new Visitor({
    ImportDeclaration: (node) => imported(node.source, node.start),
    ExportNamedDeclaration: (node) => imported(node.source, node.start),
    ExportAllDeclaration: (node) => imported(node.source, node.start),
    ImportExpression: (node) => imported(node.source, node.start),
    TSImportType: (node) => imported(node.source, node.start),
    MemberExpression: (node) => used(nameOf(node), node.start),
    AwaitExpression: (node) => used('await', node.start),
    ForOfStatement: (node) => node.await && used('await', node.start),
    NewExpression: (node) => used(`new ${nameOf(node.callee)}(${String(node.arguments.length)})`, node.start),
    CallExpression: (node) => {
      if (node.callee.type === 'Identifier') used(`${node.callee.name}()`, node.start);
      const title = node.arguments[0];
      if (title === undefined || title.type === 'SpreadElement' || !runsTest(node.callee)) return;
      const text = textOf(title);
      if (text !== undefined) tests.push(text);
    },
    // `const { env } = process` reads a member as well.
    VariableDeclarator: ({ id, init, start }) => {
      if (id.type !== 'ObjectPattern' || init?.type !== 'Identifier') return;
      for (const property of id.properties) {
        if (property.type === 'Property' && property.key.type === 'Identifier')
          used(`${init.name}.${property.key.name}`, start);
      }
    },
  }).visit(program);
  return { path, imports, uses, tests };
};

/** The titles of the tests in a file. Those in Python are the names of their functions. */
export const titlesIn = (path: string, source: string): readonly string[] =>
  path.endsWith('.py')
    ? [...source.matchAll(/^def (test_\w+)\(/gmu)].map(([, name = '']) => name)
    : factsOf(path, source).tests;
