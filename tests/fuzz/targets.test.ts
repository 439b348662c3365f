import { internalEvents, messages } from '@holdpoint/contracts/generate/json-schema';
import { consumers } from '@holdpoint/contracts/bus/streams';
import { orchestratorLogic } from '@holdpoint/orchestrator/bindings';
import { expect, test } from 'vitest';
import { corpusFolders, corpusOf } from './corpus.ts';
import { ENDPOINTS } from './endpoints.ts';
import { targets } from './targets.ts';

/** The messages of the cases. Several cases of a message differ after a space. */
const casesOf = (...names: readonly string[]): readonly string[] => {
  const cases = targets.filter(({ name }) => names.includes(name)).flatMap((each) => Object.keys(each.cases));
  return [...new Set(cases.map((name) => name.replace(/ .*/, '')))].toSorted();
};
const catalogue = [...messages, ...internalEvents].map(({ kind, name }) => `${kind}/${name}`).toSorted();
const ofKind = (start: string, end = ''): readonly string[] =>
  catalogue.filter((name) => name.startsWith(start) && name.endsWith(end));

test('every message of the catalogue is parsed from any bytes', () => {
  expect(casesOf('schemas')).toEqual(catalogue);
});

/** Whether a filter with wildcards matches a subject. */
const passes = (filter: string, subject: string): boolean => {
  const [wanted, tokens] = [filter.split('.'), subject.split('.')];
  return wanted.every((token, i) => token === '>' || token === '*' || token === tokens[i]);
};

/** Events that a service handles. */
const readFacts = (): readonly string[] => {
  const filters = consumers.filter(({ stream }) => stream === 'HP_EVT').map(({ filter }) => filter);
  const wanted = (subject: string): boolean =>
    orchestratorLogic().inbound.every(({ wants }) => wants?.(subject) !== false);
  return ofKind('event/').filter((name) => {
    const subject = `hp.evt.${name.replace('event/', '')}.x`;
    return filters.some((filter) => passes(filter, subject)) && wanted(subject);
  });
};

test('every command and every consumed event is decided in every situation', () => {
  expect(casesOf('task', 'approval', 'effect', 'recovery')).toEqual(
    [...ofKind('command/'), ...readFacts()].toSorted(),
  );
});

test('every endpoint is called on a real system, and its answers are read from any bytes', () => {
  expect(ENDPOINTS.map((name) => `api/${name}.request`).toSorted()).toEqual(ofKind('api/', '.request'));
  expect(casesOf('answers')).toEqual(ofKind('api/', '.response'));
});

test('every target has a corpus and every corpus has a target', () => {
  expect(corpusFolders()).toEqual(targets.map(({ name }) => name).toSorted());
  expect(targets.filter(({ name }) => corpusOf(name).length === 0)).toEqual([]);
});
