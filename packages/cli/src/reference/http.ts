import { HTTP_ROUTES } from '@holdpoint/contracts/catalog/http-api';
import { openApiDocument } from '@holdpoint/contracts/generate/openapi';
import { cell, GENERATE_COMMAND } from './markdown.ts';

type Operation = {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly [string];
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
};
type Schema = {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
};
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

const listOf = (names: readonly (readonly [name: string, isRequired: boolean])[]): string =>
  names.map(([name, isRequired]) => (isRequired ? `**\`${name}\`**` : `\`${name}\``)).join(', ');

const fieldsOf = ({ components }: Document, { parameters, requestBody }: Operation): string => {
  const schema = requestBody?.content['application/json'].schema ?? {};
  const named =
    schema.$ref === undefined ? schema : (components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  const inBody = Object.keys(named.properties ?? {}).map(
    (name) => [name, named.required?.includes(name) === true] as const,
  );
  const inQuery = parameters
    .filter((each) => each.in === 'query')
    .map(({ name, required }) => [name, required] as const);
  return listOf([...inQuery, ...inBody]);
};

/** The routes of the HTTP API in Markdown, by the first part of their path. */
export const httpReference = (): string => {
  const document = openApiDocument() as unknown as Document;
  const lines = HTTP_ROUTES.map(({ method, path }) => {
    const shown = path.replaceAll(/:(\w+)/g, '{$1}');
    const operation = document.paths[shown]?.[method.toLowerCase()];
    if (operation === undefined) throw new Error(`no operation for ${method} ${path}`);
    const scope = /`(?<scope>[^`]+)`/.exec(operation.description ?? '')?.groups?.['scope'];
    const needed =
      scope === undefined ? (operation.description === undefined ? 'no token' : 'any token') : `\`${scope}\``;
    const row = [`\`${method} ${shown}\``, operation.summary, needed, fieldsOf(document, operation)];
    return { tag: operation.tags[0], row: `| ${row.map(cell).join(' | ')} |` };
  });
  const groups = [...Map.groupBy(lines, ({ tag }) => tag)].map(([tag, rows]) =>
    [
      `## ${tag}`,
      '',
      '| Route | Purpose | Scope | Fields |',
      '|---|---|---|---|',
      ...rows.map(({ row }) => row),
    ].join('\n'),
  );
  return `# HTTP API

The routes are below \`/api/v1\`, and the [guide](../http-api.md) has examples. Made from the contracts by \`${GENERATE_COMMAND}\`.
The types of fields and answers are in [openapi.json](../../packages/contracts/openapi.json), which the service serves at \`/api/v1/openapi.json\`.
Required fields are bold. Fields of a \`GET\` are in the query, others in a JSON body.

${groups.join('\n\n')}
`;
};
