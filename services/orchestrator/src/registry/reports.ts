import type { ArtifactReport, RegistryEvent } from '@holdpoint/contracts/task/registry';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { Registry, AvailableArtifact, ArtifactMaker, Reporter } from './state.ts';

/** Limit for the artifacts that are kept; the newest win. */
export const ARTIFACTS_MAX = 10_000;
/** Limit for all payloads together; the newest win. */
export const PAYLOADS_MAX_BYTES = 8 * 1024 * 1024;
/** A larger payload stays with the task that made it. */
export const PAYLOAD_MAX_BYTES = 64 * 1024;
/** Limit for tasks with failed artifacts, and for tasks with none pending. */
export const REPORTERS_MAX = 200;
/** Limit for tasks of which only the serial is kept, so that a repeated report changes nothing. */
export const SERIALS_MAX = 2_000;
/** Limit for the labels of all tasks, so that the registry can be stored. */
export const LABELS_MAX = 50_000;

type Report = Extract<RegistryEvent, { readonly type: 'artifacts_reported' }>;

const bytesOf = (payload: JsonObject | undefined): number =>
  payload === undefined ? 0 : Buffer.byteLength(JSON.stringify(payload));

/** The recorded part of a report: only payloads for other tasks. */
export const recordable = ({ payload, ...report }: ArtifactReport): ArtifactReport =>
  payload !== undefined && report.state === 'available' && bytesOf(payload) <= PAYLOAD_MAX_BYTES
    ? { ...report, payload }
    : report;

const makersIn = ({ artifacts }: Report, state: ArtifactReport['state']): readonly ArtifactMaker[] =>
  artifacts.filter((each) => each.state === state).map(({ label, node }) => ({ label, node }));

const labelsOf = (makers: readonly ArtifactMaker[]): readonly string[] => makers.map(({ label }) => label);

const withoutPayload = ({ task, label, node }: AvailableArtifact): AvailableArtifact => ({
  task,
  label,
  node,
  bytes: 0,
});

/** Drops the oldest payloads beyond the limit. */
const withinBounds = (made: readonly AvailableArtifact[]): readonly AvailableArtifact[] => {
  let left = PAYLOADS_MAX_BYTES;
  return made
    .slice(-ARTIFACTS_MAX)
    .toReversed()
    .map((each) => {
      left -= each.bytes;
      return each.bytes === 0 || left >= 0 ? each : withoutPayload(each);
    })
    .toReversed();
};

/**
 * An artifact counts from its first report; a repeat makes it no newer. So a late report does not replace the
 * artifact of another task. The replaced one is kept, and counts again if the newer one is withdrawn.
 */
const mergeArtifacts = (
  made: readonly AvailableArtifact[],
  report: Report,
  before: Reporter | undefined,
): readonly AvailableArtifact[] => {
  const reported = new Map(
    report.artifacts.flatMap(({ label, node, payload, state }) =>
      state === 'available'
        ? [[label, { label, node, task: report.task, bytes: bytesOf(payload), ...(payload && { payload }) }]]
        : [],
    ),
  );
  const known = new Set(before?.made);
  const there = new Set<string>();
  const kept = made.flatMap((each) => {
    there.add(each.label);
    if (each.task !== report.task) return [each];
    const again = reported.get(each.label);
    reported.delete(each.label);
    return again === undefined ? [] : [again];
  });
  // An artifact that was dropped for its age stays dropped.
  const first = [...reported.values()].filter(({ label }) => !known.has(label) || !there.has(label));
  return withinBounds([...kept, ...first]);
};

type ReporterStatus = 'pending' | 'failed' | 'available' | 'silent';
const KEPT_MAX: Readonly<Record<ReporterStatus, number>> = {
  pending: LABELS_MAX,
  failed: REPORTERS_MAX,
  available: REPORTERS_MAX,
  silent: SERIALS_MAX,
};

const reporterStatus = ({ coming, failed, made }: Reporter): ReporterStatus => {
  if (coming.length > 0) return 'pending';
  if (failed.length > 0) return 'failed';
  return made.length > 0 ? 'available' : 'silent';
};

const serialOnly = ({ task, serial }: Reporter): Reporter => ({
  task,
  serial,
  coming: [],
  failed: [],
  made: [],
});

/** Keeps the latest reports within the limits, then only the serials, then nothing. */
const withinReporterBounds = (reporters: readonly Reporter[]): readonly Reporter[] => {
  const count: Record<ReporterStatus, number> = { pending: 0, failed: 0, available: 0, silent: 0 };
  let labels = 0;
  const fits = (reporter: Reporter): boolean => {
    const { coming, failed, made } = reporter;
    const standing = reporterStatus(reporter);
    const size = coming.length + failed.length + made.length;
    if (count[standing] >= KEPT_MAX[standing] || labels + size > LABELS_MAX) return false;
    count[standing] += 1;
    labels += size;
    return true;
  };
  const kept: Reporter[] = [];
  for (const reporter of reporters.toReversed()) {
    if (fits(reporter)) kept.push(reporter);
    else if (fits(serialOnly(reporter))) kept.push(serialOnly(reporter));
  }
  return kept.toReversed();
};

export const withReport = (board: Registry, report: Report): Registry => {
  const { task, serial } = report;
  const before = board.reporters.find((each) => each.task === task);
  const reporter: Reporter = {
    task,
    serial,
    coming: makersIn(report, 'pending'),
    failed: makersIn(report, 'failed'),
    made: labelsOf(makersIn(report, 'available')),
  };
  const others = board.reporters.filter((each) => each !== before);
  return {
    ...board,
    made: mergeArtifacts(board.made, report, before),
    reporters: withinReporterBounds([...others, reporter]),
  };
};
