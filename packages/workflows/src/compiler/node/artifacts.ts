import type { Artifact } from '@holdpoint/contracts/workflow/artifact';
import type { Json } from '@holdpoint/contracts/values/json';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import { schemaFaults, violation } from './contract-schema.ts';
import type { Expander } from '../parameters/expander.ts';
import type { Fields } from '../parameters/fields.ts';
import { namesIn } from '../parameters/placeholders.ts';
import { listed, shown, type Report } from '../../problems/report.ts';
import type { RawArtifact } from '../../template/schema.ts';
import type { Template, TemplateNode } from '../../template/template.ts';

/** The artifact contracts of a template by type: the schema, or `true` when the type has none. */
export type Contracts = ReadonlyMap<string, Json>;

const OUTPUT = 'operation_output';

/**
 * The declared artifact types. A broken contract allows everything, so that one mistake is not reported
 * twice.
 */
export const contractsOf = (
  { contracts }: Pick<Template, 'contracts'>,
  expander: Expander,
  report: Report,
): Contracts => {
  const byType = new Map<string, Json>();
  for (const { id, version = '', schema = true, file, path } of contracts) {
    const type = expander.text(id, { path: `${path}.id`, file });
    expander.text(version, { path: `${path}.version`, file });
    const faults = schemaFaults(schema, `${path}.schema`);
    for (const { known, ...fault } of faults) {
      const word = fault.path.slice(fault.path.lastIndexOf('.') + 1);
      const meant = known === undefined ? {} : { meant: [word, known] as const };
      report.error({ code: 'WORKFLOW_CONTRACT_SCHEMA', ...fault, ...meant, file });
    }
    if (type === OUTPUT) {
      const expected = 'no contract: every node produces this artifact';
      report.error({ code: 'WORKFLOW_CONTRACT_RESERVED', path: `${path}.id`, found: OUTPUT, expected, file });
    }
    byType.set(type, faults.length > 0 ? true : schema);
  }
  return byType;
};

/** The one form in which an artifact is written, such as `plan_doc`, and its texts. */
type Form = { readonly form: string; readonly texts: Readonly<Record<string, string>> };

const formOf = (raw: RawArtifact, field: string, fields: Fields): Form => {
  const forms: readonly (readonly [string, Readonly<Record<string, string>> | undefined])[] =
    Object.entries(raw);
  const [form, written = {}] = forms.find(([, value]) => value !== undefined) ?? [''];
  const texts = Object.entries(written).map(([key, value]) => [
    key,
    fields.text(value, `${field}.${form}.${key}`),
  ]);
  return { form, texts: Object.fromEntries(texts) as Readonly<Record<string, string>> };
};

const artifactOf = ({ form, texts }: Form): Artifact | undefined => {
  const { slug = '', branch = '', name = '', type_id: typeId = '', key = '' } = texts;
  switch (form) {
    case 'plan_branch':
    case 'plan_doc':
    case 'plan_commits':
      return { type: form, slug, branch };
    case 'target_branch':
      return { type: form, name };
    case 'merge_sentinel':
      return { type: form, slug };
    case 'custom':
      return { type: form, typeId, key };
    default:
      return undefined;
  }
};

type Artifacts = {
  readonly contracts: Contracts;
  readonly known: ReadonlySet<string>;
};

const reportOutput = ({ texts }: Form, field: string, { known }: Artifacts, fields: Fields): void => {
  const key = texts['key'] ?? '';
  if (known.has(key)) return;
  fields.error('WORKFLOW_OUTPUT_NODE', `${field}.custom.key`, shown(key), 'the id of a node', [key, known]);
};

/** Checks that the type is declared and that the artifact fits its contract. */
const reportContract = (made: Form, field: string, { contracts }: Artifacts, fields: Fields): void => {
  const { form, texts } = made;
  const type = form === 'custom' ? (texts['type_id'] ?? '') : form;
  const at = form === 'custom' ? `${field}.custom.type_id` : `${field}.${form}`;
  const schema = contracts.get(type);
  if (schema === undefined) {
    const expected = `a type of [[artifact_contracts]] (${listed(contracts.keys())})`;
    fields.error('WORKFLOW_CONTRACT_MISSING', at, shown(type), expected, [type, contracts.keys()]);
    return;
  }
  const fault = violation(schema, texts, `${field}.${form}`);
  if (fault !== undefined)
    fields.error('WORKFLOW_CONTRACT_VIOLATED', fault.path, fault.found, fault.expected);
};

const isNameless = ({ form, texts }: Form): boolean =>
  (form === 'target_branch' && texts['name'] === '') || (form === 'merge_sentinel' && texts['slug'] === '');

const hasPlaceholder = (raw: RawArtifact): boolean => namesIn(JSON.stringify(raw)).length > 0;

const compileArtifact = (
  raw: RawArtifact,
  field: string,
  among: Artifacts,
  fields: Fields,
): Artifact | undefined => {
  const made = formOf(raw, field, fields);
  const at = `${field}.${made.form}`;
  if (made.form === 'command_patch') {
    fields.error(
      'WORKFLOW_ARTIFACT_NOT_YET',
      at,
      'command_patch',
      'another artifact: command_patch is not supported yet',
    );
    return undefined;
  }
  if (made.form === 'custom' && made.texts['type_id'] === OUTPUT) reportOutput(made, field, among, fields);
  else reportContract(made, field, among, fields);
  if (isNameless(made)) {
    // A parameter that was left empty is a choice of the caller.
    if (!hasPlaceholder(raw))
      fields.warning('WORKFLOW_ARTIFACT_NAMELESS', at, 'an empty name', 'a name: the artifact is left out');
    return undefined;
  }
  return artifactOf(made);
};

const compileArtifacts = (
  list: readonly RawArtifact[],
  field: string,
  among: Artifacts,
  fields: Fields,
): Artifact[] =>
  list
    .map((raw, index) => compileArtifact(raw, `${field}[${String(index)}]`, among, fields))
    .filter((artifact) => artifact !== undefined);

/** The artifacts that a node needs and produces, with their names filled in. */
export const artifactsOf = (
  { needs = [], produces = {} }: Pick<TemplateNode, 'needs' | 'produces'>,
  among: Artifacts,
  fields: Fields,
): Pick<NodeDefinition, 'needs' | 'produces'> => {
  const needed = compileArtifacts(needs, 'needs', among, fields);
  const written: readonly (readonly [string, readonly RawArtifact[] | undefined])[] =
    Object.entries(produces);
  const given = written
    .map(
      ([outcome, list = []]) =>
        [outcome, compileArtifacts(list, `produces.${outcome}`, among, fields)] as const,
    )
    .filter(([, list]) => list.length > 0);
  return {
    ...(needed.length > 0 && { needs: needed }),
    ...(given.length > 0 && { produces: Object.fromEntries(given) as NodeDefinition['produces'] }),
  };
};
