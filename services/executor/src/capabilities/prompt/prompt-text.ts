import type { Json } from '@holdpoint/contracts/values/json';

/** A longer prompt is a mistake. */
export const PROMPT_BYTES_MAX = 256 * 1_024;

/** The values of placeholders. */
export type PromptSources = {
  /** The present node: a name without a node means one of its own arguments. */
  readonly node: string;
  readonly own: Readonly<Record<string, Json>>;
  /** Arguments of all nodes, as `<node>.<arg>`. */
  readonly values: Readonly<Record<string, string>>;
  readonly executionRoot: string;
  /** Reads a file. Throws with a reason for users. */
  readonly readFile: (path: string) => Promise<string>;
};

export type Rendered =
  | { readonly text: string; readonly problems: readonly [] }
  | { readonly text?: never; readonly problems: readonly string[] };

type ValueOrProblem = { readonly value: string } | { readonly problem: string };

export const promptValue = (value: Json): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

const unresolved = (name: string): ValueOrProblem => ({ problem: `unknown placeholder {{${name}}}` });

/** Composition prefixes node names with stage names: the nearest stage that has the name counts. */
const inOwnStage = (name: string, { node, values }: PromptSources): string | undefined => {
  const parts = node.split('__');
  for (let kept = parts.length - 1; kept > 0; kept -= 1) {
    const value = own(values, `${parts.slice(0, kept).join('__')}__${name}`);
    if (value !== undefined) return value;
  }
  return undefined;
};

const bySuffix = (name: string, { values }: PromptSources): ValueOrProblem => {
  const candidates = Object.keys(values).filter((key) => key.endsWith(`__${name}`));
  const [only] = candidates;
  if (only === undefined) return unresolved(name);
  if (candidates.length > 1) {
    return { problem: `{{${name}}} may be any of ${candidates.toSorted().join(', ')}` };
  }
  return { value: values[only] ?? '' };
};

const own = <Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

const fromFile = async (path: string, { readFile }: PromptSources): Promise<ValueOrProblem> => {
  try {
    return { value: await readFile(path) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { problem: `cannot read {{file:${path}}}: ${why}` };
  }
};

const find = async (name: string, sources: PromptSources): Promise<ValueOrProblem> => {
  if (name === '') return { problem: 'a placeholder without a name: {{}}' };
  if (name.startsWith('file:')) return fromFile(name.slice('file:'.length).trim(), sources);
  if (name === 'execution_root') return { value: sources.executionRoot };
  const argument = own(sources.own, name);
  if (argument !== undefined) return { value: promptValue(argument) };
  const value = own(sources.values, name) ?? inOwnStage(name, sources);
  if (value !== undefined) return { value };
  return name.includes('.') ? bySuffix(name, sources) : unresolved(name);
};

type Piece = { readonly literal: string } | { readonly name: string };

/** The pieces of the text, and the rest behind an unclosed placeholder. */
const piecesOf = (text: string): readonly [pieces: readonly Piece[], unclosed: string | undefined] => {
  const pieces: Piece[] = [];
  let from = 0;
  for (;;) {
    const open = text.indexOf('{{', from);
    if (open === -1) return [[...pieces, { literal: text.slice(from) }], undefined];
    const close = text.indexOf('}}', open + 2);
    if (close === -1) return [pieces, text.slice(open, open + 40)];
    pieces.push({ literal: text.slice(from, open) }, { name: text.slice(open + 2, close).trim() });
    from = close + 2;
  }
};

/** Replaces the placeholders once: inserted text is not parsed again. */
export const renderPrompt = async (text: string, sources: PromptSources): Promise<Rendered> => {
  const [pieces, unclosed] = piecesOf(text);
  const problems: string[] = [];
  let rendered = '';
  let bytes = 0;
  for (const piece of pieces) {
    const found = 'literal' in piece ? { value: piece.literal } : await find(piece.name, sources);
    if ('problem' in found) problems.push(found.problem);
    else if (bytes <= PROMPT_BYTES_MAX) {
      bytes += Buffer.byteLength(found.value);
      rendered += found.value;
    }
  }
  if (unclosed !== undefined) problems.push(`unclosed placeholder: ${JSON.stringify(unclosed)}`);
  if (bytes > PROMPT_BYTES_MAX) problems.push(`longer than ${String(PROMPT_BYTES_MAX)} bytes`);
  return problems.length > 0 ? { problems: [...new Set(problems)] } : { text: rendered, problems: [] };
};
