import { asyncApiDocument } from './asyncapi.ts';
import { jsonSchemaOf, messages, schemaFile } from './json-schema.ts';
import { openApiDocument } from './openapi.ts';
import { remoteVectors } from './vectors.ts';

/** Command that regenerates the files. */
export const GENERATE_COMMAND = 'node packages/contracts/generate.ts';

const textOf = (document: unknown): string => `${JSON.stringify(document, undefined, 2)}\n`;

/** Every generated file of this package: path and content. */
export const generatedFiles = (): ReadonlyMap<string, string> =>
  new Map([
    ...messages.map((message) => [`schemas/${schemaFile(message)}`, textOf(jsonSchemaOf(message))] as const),
    ['asyncapi.json', textOf(asyncApiDocument())],
    ['openapi.json', textOf(openApiDocument())],
    ['vectors/remote-effects.json', textOf(remoteVectors())],
  ]);

/** Differences between the checked-in files (`found`) and the generated ones. */
export const staleFiles = (
  found: ReadonlyMap<string, string>,
  wanted: ReadonlyMap<string, string>,
): readonly string[] => {
  const stale = [...wanted].flatMap(([path, content]) => {
    if (!found.has(path)) return [`${path} is missing`];
    return found.get(path) === content ? [] : [`${path} is out of date`];
  });
  const left = [...found.keys()]
    .filter((path) => !wanted.has(path))
    .map((path) => `${path} belongs to no message`);
  return [...stale, ...left].map((problem) => `${problem}: run ${GENERATE_COMMAND}`);
};
