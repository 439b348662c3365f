import type { Fields } from '../parameters/fields.ts';
import type { GatePolicy, RawGate } from '../../template/schema.ts';

/** A gate with its placeholders replaced. */
export type Gate = {
  readonly kind: RawGate['kind'];
  readonly policy?: GatePolicy;
  /** For script and CI/CD gates; empty when not configured. */
  readonly script: string;
  /** For approval gates: whether an approval is required. */
  readonly required: boolean;
  readonly autoResolve: boolean;
  /** For custom gates. */
  readonly id: string;
};

const NOTHING = { script: '', required: false, autoResolve: false, id: '' } as const;

const CUSTOM = 'conflict_resolution';

const customGate = (raw: RawGate & { kind: 'custom' }, at: string, fields: Fields): Omit<Gate, 'kind'> => {
  const id = fields.text(raw.id, `${at}.id`);
  const known = [CUSTOM];
  if (id !== CUSTOM)
    fields.error('WORKFLOW_GATE_CUSTOM', `${at}.id`, JSON.stringify(id), CUSTOM, [id, known]);
  const { auto_resolve: autoResolve, ...others } = raw.args ?? {};
  for (const [name, value] of Object.entries(others)) fields.text(String(value), `${at}.args.${name}`);
  const resolves =
    autoResolve !== undefined && (fields.bool(autoResolve, `${at}.args.auto_resolve`) ?? false);
  return { ...NOTHING, id, autoResolve: resolves };
};

const partsOf = (raw: RawGate, at: string, fields: Fields): Omit<Gate, 'kind'> => {
  switch (raw.kind) {
    case 'approval':
      return { ...NOTHING, required: fields.bool(raw.required ?? false, `${at}.approval.required`) ?? false };
    case 'script':
      return { ...NOTHING, script: fields.text(raw.script, `${at}.script`) };
    case 'cicd':
      return {
        ...NOTHING,
        script: fields.text(raw.script, `${at}.cicd.script`),
        autoResolve: fields.bool(raw.auto_resolve ?? false, `${at}.cicd.auto_resolve`) ?? false,
      };
    case 'custom':
      return customGate(raw, `${at}.custom`, fields);
  }
};

export const gatesOf = (gates: readonly RawGate[], fields: Fields): readonly Gate[] =>
  gates.map((raw, index) => ({
    ...partsOf(raw, `gates[${String(index)}]`, fields),
    kind: raw.kind,
    ...(raw.policy !== undefined && { policy: raw.policy }),
  }));
