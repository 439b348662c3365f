import { listed, shown, type Report } from '../problems/report.ts';
import { endsOf, entriesOf } from './stage-graph.ts';
import type { TemplateFile } from './schema.ts';
import type { TemplateNode } from './template.ts';

type Link = { readonly from: string; readonly to: string };
type Stages = ReadonlyMap<string, readonly TemplateNode[]>;

/** A link connects every end of a stage with every start of the next; more edges are surely a mistake. */
const EDGES_MAX = 100_000;

/** A path from a stage back to itself, or undefined. */
const findCycle = (links: readonly Link[]): readonly string[] | undefined => {
  const next = Map.groupBy(links, ({ from }) => from);
  const done = new Set<string>();
  const visit = (name: string, path: readonly string[]): readonly string[] | undefined => {
    const index = path.indexOf(name);
    if (index >= 0) return [...path.slice(index), name];
    if (done.has(name)) return undefined;
    for (const { to } of next.get(name) ?? []) {
      const circle = visit(to, [...path, name]);
      if (circle !== undefined) return circle;
    }
    done.add(name);
    return undefined;
  };
  for (const name of next.keys()) {
    const circle = visit(name, []);
    if (circle !== undefined) return circle;
  }
  return undefined;
};

const reportEnds = (
  { from, to }: Link,
  index: number,
  stages: Stages,
  file: string,
  report: Report,
): boolean => {
  let known = true;
  for (const [key, name] of Object.entries({ from, to })) {
    if (stages.has(name)) continue;
    known = false;
    report.error({
      code: 'WORKFLOW_LINK_STAGE',
      path: `links[${String(index)}].${key}`,
      found: shown(name),
      expected: `the name of an import (${listed(stages.keys())})`,
      meant: [name, stages.keys()],
      file,
    });
  }
  return known;
};

/** A template may link one stage many times. */
const once = <Value>(work: (name: string) => Value): ((name: string) => Value) => {
  const known = new Map<string, Value>();
  return (name) => {
    const value = known.get(name) ?? work(name);
    known.set(name, value);
    return value;
  };
};

/** The additional predecessors of each entry node. Unknown stages and cycles are reported and ignored. */
export const edgesOfLinks = (
  links: NonNullable<TemplateFile['links']>,
  stages: Stages,
  file: string,
  report: Report,
): ReadonlyMap<string, readonly string[]> => {
  const edges = new Map<string, string[]>();
  const sound = links.filter((link, index) => reportEnds(link, index, stages, file, report));
  const circle = findCycle(sound);
  if (circle !== undefined) {
    const found = circle.join(' -> ');
    report.error({
      code: 'WORKFLOW_LINK_CYCLE',
      path: 'links',
      found,
      expected: 'links without a cycle',
      file,
    });
    return edges;
  }
  const endsAt = once((name) => endsOf(stages.get(name) ?? []));
  const startsAt = once((name) => entriesOf(stages.get(name) ?? []));
  let total = 0;
  for (const [index, { from, to }] of sound.entries()) {
    const ends = endsAt(from);
    const starts = startsAt(to);
    const path = `links[${String(index)}]`;
    total += ends.length * starts.length;
    if (ends.length === 0 || starts.length === 0) {
      const found = ends.length === 0 ? `${shown(from)} without an end` : `${shown(to)} without a start`;
      report.error({ code: 'WORKFLOW_LINK_ENDS', path, found, expected: 'a node to link to', file });
    } else if (total > EDGES_MAX) {
      const expected = `at most ${String(EDGES_MAX)} edges`;
      report.error({ code: 'WORKFLOW_LINK_WIDE', path, found: `${String(total)} edges`, expected, file });
      return edges;
    }
    for (const start of starts) {
      const before = edges.get(start) ?? [];
      for (const end of ends) before.push(end);
      edges.set(start, before);
    }
  }
  return edges;
};
