import type { NodeDraft } from '../node/node-draft.ts';
import { isLabel, kindsOf, labelFault, LABELS } from '../node/labels.ts';
import { textArg } from '../node/node-args.ts';

export const hasLabel = ({ node: { uses } }: NodeDraft): boolean => isLabel(uses);

const kindRule = ({ source: { kind, uses }, fields }: NodeDraft): void => {
  const kinds = kindsOf(uses);
  if (kind === undefined || kinds.includes(kind)) return;
  fields.error('WORKFLOW_KIND', 'kind', `${kind} with ${uses}`, kinds.join(' or '), [kind, kinds]);
};

const controlRule = ({ node: { uses, args }, fields }: NodeDraft): void => {
  if (!uses.startsWith('control.')) return;
  for (const name of ['command', 'script']) {
    if (textArg(args, name) === '') continue;
    const expected = 'no such argument: the script belongs to the gate';
    fields.error('WORKFLOW_CONTROL_SCRIPT', `args.${name}`, 'a script', expected);
  }
};

/** Checks `uses` and `kind` of a node. */
export const identityRules = (draft: NodeDraft): void => {
  const { uses } = draft.node;
  const fault = labelFault(uses);
  if (fault !== undefined) {
    draft.fields.error(fault.code, 'uses', fault.found, fault.expected, [uses, LABELS]);
    return;
  }
  kindRule(draft);
  controlRule(draft);
};
