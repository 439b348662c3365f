import type { NodeId } from '@holdpoint/contracts/values/ids';
import { reportMissing } from '../node/argument-rules.ts';
import { missingOf } from './capability-rules.ts';
import type { NodeDraft } from '../node/node-draft.ts';
import { namesIn } from '../parameters/placeholders.ts';
import type { Template } from '../../template/template.ts';

/** The parameters that could fill these arguments: those in their text, or else those with the same name. */
const paramsFor = (
  { source: { args = {} } }: NodeDraft,
  names: readonly string[],
  { params }: Template,
): readonly string[] => {
  const written = names.flatMap((name) => {
    const text = args[name];
    return typeof text === 'string' ? namesIn(text) : [];
  });
  return [...new Set(written.length > 0 ? written : names.filter((name) => params.has(name)))];
};

const flagsFor = (param: string, { cli: { named } }: Template): readonly string[] => {
  const aliases = Object.entries(named).filter(([, target]) => target === param);
  return [...aliases.map(([alias]) => alias), param].map((name) => `--${name.replaceAll('_', '-')} VALUE`);
};

/** The positional form of a call, up to the first parameter that helps. */
const exampleFor = (params: readonly string[], { cli: { positional } }: Template): string | undefined => {
  const last = positional.findIndex((name) => params.includes(name));
  if (last < 0) return undefined;
  return positional
    .slice(0, last + 1)
    .map((name) => `<${name}>`)
    .join(' ');
};

const adviceFor = (params: readonly string[], names: readonly string[], template: Template): string => {
  const needed = `one of ${names.join(', ')}`;
  const flags = params.flatMap((param) => flagsFor(param, template));
  const example = exampleFor(params, template);
  const byPlace = example === undefined ? '' : `, or as positions: holdpoint run WORKFLOW ${example}`;
  return `${needed}: give ${flags.join(' or ')}${byPlace}`;
};

/**
 * Reports missing arguments of a node. When a parameter could have filled them, the message tells the caller
 * how to pass it.
 */
export const reportInputs = (draft: NodeDraft, entries: ReadonlySet<NodeId>, template: Template): void => {
  const names = missingOf(draft);
  if (names === undefined) return;
  const { node, fields } = draft;
  const params = paramsFor(draft, names, template);
  if (params.length === 0) {
    reportMissing(names, node.args, 'args', fields);
    return;
  }
  const code = entries.has(node.id) ? 'WORKFLOW_INPUT_MISSING' : 'WORKFLOW_ARGS_MISSING';
  fields.error(code, 'args', `no input for ${node.id} (${node.uses})`, adviceFor(params, names, template));
};
