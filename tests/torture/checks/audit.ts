import { type Check, takeNotes } from './check.ts';

export const audit: Check = {
  id: 'K22',
  promise: 'the audit log is one chain with one line for each approval event, and matches every anchor',
  ofRun: ({ audit: { report, untold, toldTwice, heard } }) => {
    const { expect, finding } = takeNotes();
    for (let line = report.problemCount; line < report.lines; line += 1) expect(true, () => '');
    for (const { seq, fault, text } of report.problems)
      expect(false, () => `line ${String(seq)} of the audit log, ${fault}: ${text}`);
    expect(report.lines > 0, () => 'the audit log has no lines');
    expect(untold === 0, () => `${String(untold)} events of approvals have no line in the audit log`);
    expect(toldTwice === 0, () => `${String(toldTwice)} events of approvals have more lines than one`);
    expect(report.anchors > 0, () => 'the audit log has no anchors');
    // Anchors are in the log and on the bus, where some may be lost.
    expect(
      report.anchors >= heard,
      () => `${String(heard)} anchors were published, and ${String(report.anchors)} match`,
    );
    return finding();
  },
};
