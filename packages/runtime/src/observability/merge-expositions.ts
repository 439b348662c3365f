import type { Exposition } from './meter.ts';

const COMMENT = /^# (HELP|TYPE) (\S+)/;

type Family = { readonly comments: Map<string, string>; readonly samples: string[] };

/** The metrics of several services in one text: each metric is described once, before the lines of all services. */
const mergeTexts = (texts: readonly string[]): string => {
  const families = new Map<string, Family>();
  for (const text of texts) {
    let name = '';
    for (const line of text.split('\n').filter((each) => each !== '')) {
      const [, kind, described] = COMMENT.exec(line) ?? [];
      name = described ?? name;
      const family = families.get(name) ?? { comments: new Map<string, string>(), samples: [] };
      families.set(name, family);
      if (kind === undefined) family.samples.push(line);
      else if (!family.comments.has(kind)) family.comments.set(kind, line);
    }
  }
  return [...families.values()]
    .flatMap(({ comments, samples }) => [...comments.values(), ...samples, ''])
    .join('\n');
};

export const mergeExpositions = (expositions: readonly Exposition[]): Exposition => {
  const [first] = expositions;
  if (first === undefined) throw new Error('no service has metrics');
  if (expositions.length === 1) return first;
  return {
    contentType: first.contentType,
    text: async () => mergeTexts(await Promise.all(expositions.map((each) => each.text()))),
  };
};
