import type { Precondition } from '@holdpoint/contracts/workflow/workflow';
import type { Fields } from '../parameters/fields.ts';
import { shown } from '../../problems/report.ts';
import type { Scalar } from '../../reading/table.ts';
import type { RawPrecondition } from '../../template/schema.ts';

const KNOWN = ['clean_worktree', 'branch_exists'] as const;

const branchExists = (branch: string): Precondition => ({
  kind: 'branch_exists',
  ...(branch !== '' && { branch }),
});

const customPrecondition = (
  id: string,
  args: Readonly<Record<string, Scalar>>,
  at: string,
  fields: Fields,
): Precondition | undefined => {
  const known = id === 'branch_exists' ? ['branch'] : [];
  const texts = new Map(
    Object.entries(args).map(([name, value]) => [name, fields.text(String(value), `${at}.args.${name}`)]),
  );
  if (!KNOWN.some((one) => one === id)) {
    fields.error('WORKFLOW_PRECONDITION_UNKNOWN', `${at}.id`, shown(id), KNOWN.join(', '), [id, KNOWN]);
    return undefined;
  }
  for (const name of texts.keys()) {
    if (known.includes(name)) continue;
    const expected = known.length === 0 ? 'no arguments' : known.join(', ');
    fields.error('WORKFLOW_KEY_UNKNOWN', `${at}.args.${name}`, `the key ${shown(name)}`, expected, [
      name,
      known,
    ]);
  }
  return id === 'branch_exists' ? branchExists(texts.get('branch') ?? '') : { kind: 'clean_worktree' };
};

const preconditionOf = (raw: RawPrecondition, at: string, fields: Fields): Precondition | undefined => {
  switch (raw.kind) {
    case 'clean_worktree':
      return raw;
    case 'branch_exists':
      return branchExists(fields.text(raw.branch ?? '', `${at}.branch_exists.branch`));
    case 'custom':
      return customPrecondition(raw.id, raw.args ?? {}, `${at}.custom`, fields);
    case 'pinned_head': {
      const expected = 'clean_worktree or branch_exists: pinned_head is not supported';
      fields.error('WORKFLOW_PINNED_HEAD', at, 'pinned_head', expected);
      return undefined;
    }
  }
};

export const preconditionsOf = (raw: readonly RawPrecondition[], fields: Fields): Precondition[] =>
  raw
    .map((one, index) => preconditionOf(one, `preconditions[${String(index)}]`, fields))
    .filter((one) => one !== undefined);
