/** Identifies a template. */
export type Identity = { readonly id: string; readonly version: string };

export const WORKFLOW_FORMS =
  'file:<path> or a path to a .toml or .json file, an alias of [commands], or a selector <id>@<version>';

const SELECTOR = /^([^@\s]{1,200})@([^@\s]{1,64})$/;

export const parseSelector = (text: string): Identity | undefined => {
  const [, id, version] = SELECTOR.exec(text) ?? [];
  return id === undefined || version === undefined ? undefined : { id, version };
};

/** The correct form of `template.name.v2`; undefined for other texts. */
export const undotted = (text: string): string | undefined => {
  const dot = text.lastIndexOf('.');
  const [id, version] = [text.slice(0, Math.max(dot, 0)), text.slice(dot + 1)];
  const isDotted = id.includes('.') && !/[@\s/\\]/.test(id) && /^v\d+$/.test(version);
  return isDotted ? `${id}@${version}` : undefined;
};

const FILE_PREFIX = 'file:';
const LOOKS_LIKE_A_PATH = /^[./]|[/\\]|\.(toml|json)$/;

/** The path of a workflow that is named by its file. */
export const pathOf = (flow: string): string | undefined => {
  if (flow.startsWith(FILE_PREFIX)) return flow.slice(FILE_PREFIX.length);
  return LOOKS_LIKE_A_PATH.test(flow) ? flow : undefined;
};

/** `Code Review`, `code-review` and `code__review` are the same alias. */
export const aliasOf = (name: string): string =>
  name
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, '_');
