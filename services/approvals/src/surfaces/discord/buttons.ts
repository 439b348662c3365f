import type { RequestApproval, Verb } from '@holdpoint/contracts/approval';
import { policyOf, type Question, questionOf } from '@holdpoint/contracts/approval-question';
import { customId, type PressName } from './custom-id.ts';
import { ruleLike } from './remember.ts';

type Button = {
  readonly type: 2;
  readonly style: number;
  readonly label: string;
  readonly custom_id: string;
};
export type Row = { readonly type: 1; readonly components: readonly Button[] };

const [BLUE, GREY, GREEN, RED] = [1, 2, 3, 4];

type Offer = readonly [press: PressName, label: string, style: number];

const ANSWERS: Readonly<Record<Exclude<Question, 'effect'>, readonly Offer[]>> = {
  doubt: [
    ['did', 'It happened', GREEN],
    ['not', 'It did not happen', RED],
    ['again', 'Do it again', BLUE],
  ],
  stuck: [
    ['again', 'Try again', BLUE],
    ['skip', 'Skip', GREY],
    ['done', 'Mark as done', GREEN],
    ['end', 'Cancel', RED],
  ],
};

const rowsOf = (request: RequestApproval): readonly (readonly Offer[])[] => {
  const question = questionOf(request);
  if (question !== 'effect') return [ANSWERS[question]];
  const { decisions } = policyOf(request);
  const may = (choice: Verb): boolean => decisions.includes(choice);
  return [
    [
      ...(may('approve') ? [['ok', 'Approve', GREEN] as const] : []),
      ...(may('reject') ? [['no', 'Reject', RED] as const] : []),
    ],
    [
      ...(may('request_changes') ? [['chg?', 'Request changes…', GREY] as const] : []),
      ...(may('reject') ? [['no?', 'Reject with reason…', GREY] as const] : []),
      ...(ruleLike(request) === undefined ? [] : [['keep', 'Approve and remember', GREY] as const]),
    ],
  ];
};

/** What can be pressed under a request; nothing where its id leaves no room for all of it. */
export const buttonsOf = (request: RequestApproval, token: string): readonly Row[] => {
  const offered = rowsOf(request).filter((row) => row.length > 0);
  const rows = offered.map((row) =>
    row.flatMap(([press, label, style]): readonly Button[] => {
      const id = customId(press, { ...request, token });
      return id === undefined ? [] : [{ type: 2, style, label, custom_id: id }];
    }),
  );
  const hasRoom = rows.flat().length === offered.flat().length;
  return hasRoom ? rows.map((components) => ({ type: 1, components })) : [];
};
