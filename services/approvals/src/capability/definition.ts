import { type CapabilityDefinition } from '@holdpoint/contracts/approval/capability';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { schemaProblem } from './schema-check.ts';
import { isObject } from './schema.ts';

const PLACE = /\$\{([^}]*\}?)/g;
const PATH = /^[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*\}$/;

/** Names that the schema lists; undefined where it permits others as well. */
const namesIn = ({ properties, additionalProperties }: JsonObject): readonly string[] | undefined =>
  isObject(properties) && additionalProperties === false ? Object.keys(properties) : undefined;

/** A misspelt name would leave a hole in each title. */
const templateProblem = (template: string, input: JsonObject): string | undefined => {
  const names = namesIn(input);
  for (const [, path = ''] of template.matchAll(PLACE)) {
    if (!PATH.test(path)) return 'write places as ${name} or ${order.id}';
    const [name = ''] = path.slice(0, -1).split('.');
    if (names !== undefined && !names.includes(name)) return `no argument is named ${name.slice(0, 64)}`;
  }
  return undefined;
};

/** The approved preview is the argument of this name. */
const previewProblem = ({ preview, input }: CapabilityDefinition): string | undefined => {
  const { properties } = input;
  if (preview !== true || !isObject(properties) || !Object.hasOwn(properties, 'preview')) return undefined;
  return 'an effect with a preview has no argument of this name: rename it';
};

/** Why a definition cannot be registered; undefined if it can. */
export const definitionProblem = (definition: CapabilityDefinition): string | undefined => {
  const { title, target = '', input, output } = definition;
  const problems: readonly (readonly [field: string, problem: string | undefined])[] = [
    ['title', templateProblem(title, input)],
    ['target', templateProblem(target, input)],
    ['input', schemaProblem(input)],
    ['input/properties/preview', previewProblem(definition)],
    ['output', output && schemaProblem(output)],
  ];
  const [found] = problems.filter(([, problem]) => problem !== undefined);
  return found && `${found[0]}${found[1]?.startsWith('/') === true ? '' : ': '}${found[1] ?? ''}`;
};
